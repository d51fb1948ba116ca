// Void is not a value.
// expect: bulkhead: this message cannot be sent: void and functions are not values
// expect: (M = void|check_sendable<void>)
#include "bulkhead/message.hpp"

int main() { bulkhead::check_sendable<void>(); }
