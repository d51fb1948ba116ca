// A message that is a pointer is named.
// expect: bulkhead: this message cannot be sent: it holds a raw pointer
// expect: (Holder = |refuse\w*<)int ?\*[;,]
// expect: (Member = |, )int ?\*(; int Position = |, )0[;,]
// expect: (M = int\*|check_sendable<int \*>)
#include "bulkhead/message.hpp"

int main() { bulkhead::check_sendable<int*>(); }
