// What is volatile is changed by others.
// expect: bulkhead: this message cannot be sent: it holds something volatile
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )volatile int(; int Position = |, )1[;,]
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  int volatile flag;
};

int main() { bulkhead::check_sendable<Bad>(); }
