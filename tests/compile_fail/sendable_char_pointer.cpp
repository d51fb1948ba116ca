// A pointer to characters would dangle, unless it is a literal, which nobody can know.
// expect: bulkhead: this message cannot be sent: it holds a pointer to characters.*std::string
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )const char ?\*(; int Position = |, )1[;,]
// expect: (Bad::text\)|value\.text\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

struct Bad {
  char const* text;
};

int main() { bulkhead::check_sendable<Bad>(); }
