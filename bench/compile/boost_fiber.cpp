// Compiled, not run, by bench/compare: the two-actor program as fibers with channels.
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>

using Mailbox = boost::fibers::buffered_channel<int>;

int main() {
  Mailbox to_ping(2);
  Mailbox to_pong(2);
  int last = 0;
  boost::fibers::fiber pong([&] {
    for (int i = 0; i < 10; ++i) to_ping.push(to_pong.value_pop() + 1);
  });
  boost::fibers::fiber ping([&] {
    for (int i = 0; i < 10; ++i) {
      to_pong.push(last);
      last = to_ping.value_pop();
    }
  });
  ping.join();
  pong.join();
  return last == 10 ? 0 : 1;
}
