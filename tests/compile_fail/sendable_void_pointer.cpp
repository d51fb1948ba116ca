// A pointer to anything is a pointer still.
// expect: bulkhead: this message cannot be sent: it holds a raw pointer
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )const void ?\*(; int Position = |, )1[;,]
// expect: (Bad::anything\)|value\.anything\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  void const* anything;
};

int main() { bulkhead::check_sendable<Bad>(); }
