// A value must be of the channel's type, where it is left with its sender.
// expect: (cannot bind .* (to|of type)|could not bind|non-const lvalue reference)
#include "bulkhead/channel.hpp"

int main() {
  auto [sender, receiver] = bulkhead::make_channel<int>();
  long value = 1;
  static_cast<void>(sender.try_send(value));
}
