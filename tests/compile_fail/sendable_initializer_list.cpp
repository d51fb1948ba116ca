// A std::initializer_list is a view of an array that is gone soon.
// expect: bulkhead: this message cannot be sent: it holds a view
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::initializer_list<int>(; int Position = |, )1[;,]
// expect: (Bad::numbers\)|value\.numbers\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <initializer_list>

struct Bad {
  std::initializer_list<int> numbers;
};

int main() { bulkhead::check_sendable<Bad>(); }
