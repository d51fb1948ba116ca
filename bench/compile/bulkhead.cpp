// Compiled, not run, by bench/compare: the two-actor program with Bulkhead.
#include <bulkhead/bulkhead.hpp>

struct Ping;

struct Serve {
  int value = 0;
  bulkhead::Address<Ping> from;
};
struct Return {
  int value = 0;
};

struct Pong {
  void receive(Serve serve);
};

struct Ping {
  bulkhead::Address<Pong> other;
  int* last;

  void started() { other.send(Serve{0, bulkhead::this_actor::address(this)}); }
  void receive(Return back) {
    *last = back.value;
    if (back.value < 10) other.send(Serve{back.value, bulkhead::this_actor::address(this)});
  }
};

void Pong::receive(Serve serve) { serve.from.send(Return{serve.value + 1}); }

int main() {
  int last = 0;
  bulkhead::Runtime runtime;
  runtime.start();
  runtime.spawn<Ping>(runtime.spawn<Pong>(), &last);
  runtime.shutdown();
  return last == 10 ? 0 : 1;
}
