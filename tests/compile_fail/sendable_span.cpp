// A span would dangle.
// expect: bulkhead: this message cannot be sent: it holds a std::span.*std::vector
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::span<const int, 4>(; int Position = |, )1[;,]
// expect: (Bad::samples\)|value\.samples\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <span>

struct Bad {
  std::span<int const, 4> samples;
};

int main() { bulkhead::check_sendable<Bad>(); }
