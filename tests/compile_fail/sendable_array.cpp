// An array is not a value of its own.
// expect: bulkhead: this message cannot be sent: it is an array
// expect: (M = char ?\[8\]|check_sendable<char ?\[8\]>)
#include "bulkhead/message.hpp"

int main() { bulkhead::check_sendable<char[8]>(); }
