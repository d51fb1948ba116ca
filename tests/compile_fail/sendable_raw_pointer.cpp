// A raw pointer would dangle.
// expect: bulkhead: this message cannot be sent: it holds a raw pointer
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )int ?\*(; int Position = |, )2[;,]
// expect: (Bad::value\)|value\.value\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  int id;
  int* value;
};

int main() { bulkhead::check_sendable<Bad>(); }
