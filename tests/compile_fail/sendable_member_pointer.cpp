// Pointers to members are refused.
// expect: bulkhead: this message cannot be sent: it holds a pointer to a member
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )int Bad::\*(; int Position = |, )2[;,]
// expect: (Bad::member\)|value\.member\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  int id;
  int Bad::*member;
};

int main() { bulkhead::check_sendable<Bad>(); }
