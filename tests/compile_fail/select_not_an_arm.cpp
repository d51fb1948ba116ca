// Only arms can be selected among.
// expect: no matching function for call to .*select
#include "bulkhead/select.hpp"

int main() {
  auto [sender, receiver] = bulkhead::make_channel<int>();
  bulkhead::select(receiver);
}
