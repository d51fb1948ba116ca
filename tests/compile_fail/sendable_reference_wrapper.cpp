// A std::reference_wrapper would dangle. It is found though it cannot be made from nothing.
// expect: bulkhead: this message cannot be sent: it holds a std::reference_wrapper
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::reference_wrapper<int>(; int Position = |, )1[;,]
// expect: (Bad::total\)|value\.total\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <functional>

struct Bad {
  std::reference_wrapper<int> total;
};

int main() { bulkhead::check_sendable<Bad>(); }
