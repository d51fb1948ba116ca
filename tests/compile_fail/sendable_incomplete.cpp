// A message must be known to be checked.
// expect: bulkhead: this message cannot be sent: its type is only declared, not defined
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad;

int main() { bulkhead::check_sendable<Bad>(); }
