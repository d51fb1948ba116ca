// An object of an abstract class does not exist.
// expect: bulkhead: this message cannot be sent: its class is abstract
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  virtual ~Bad() = default;
  virtual void run() = 0;
};

int main() { bulkhead::check_sendable<Bad>(); }
