// The function of an arm takes what may come, errors too.
// expect: bulkhead: the function of on_receive takes a std::expected<T, ChannelError>
#include "bulkhead/select.hpp"

int main() {
  auto [sender, receiver] = bulkhead::make_channel<int>();
  bulkhead::select(on_receive(receiver, [](int) {}));
}
