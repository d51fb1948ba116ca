// What goes through a channel keeps no hold on its sender.
// expect: bulkhead: this message cannot be sent: it holds a raw pointer
// expect: (M = int\*|check_sendable<int \*>)
#include "bulkhead/channel.hpp"

int main() { static_cast<void>(bulkhead::make_channel<int*>(8)); }
