// Nobody could catch what the destructor of a message in a queue throws.
// expect: bulkhead: this message cannot be sent: its destructor is private or may throw
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  int id;
  ~Bad() noexcept(false);
};

int main() { bulkhead::check_sendable<Bad>(); }
