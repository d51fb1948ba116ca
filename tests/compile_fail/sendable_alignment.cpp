// Messages are aligned to 64 bytes at most.
// expect: bulkhead: this message cannot be sent: it is aligned to more than 64 bytes
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  alignas(128) int value;
};

int main() { bulkhead::check_sendable<Bad>(); }
