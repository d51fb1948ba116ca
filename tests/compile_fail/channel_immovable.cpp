// A channel's values are moved in and out.
// expect: bulkhead: this message cannot be sent: it holds something that cannot be moved
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/channel.hpp"

class Bad {
 public:
  Bad();
  Bad(Bad const&) = delete;
};

int main() { static_cast<void>(bulkhead::make_channel<Bad>()); }
