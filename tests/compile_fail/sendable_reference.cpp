// A reference would dangle. It is found though it cannot be made from nothing.
// expect: bulkhead: this message cannot be sent: it holds a reference
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )int ?&(; int Position = |, )3[;,]
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  int id;
  int lines[4];
  int& total;
};

int main() { bulkhead::check_sendable<Bad>(); }
