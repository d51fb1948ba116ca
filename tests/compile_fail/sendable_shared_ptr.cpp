// A std::shared_ptr to what is not const is a data race.
// expect: cannot be sent: it holds a std::shared_ptr or std::weak_ptr.*data race
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::shared_ptr<int>(; int Position = |, )1[;,]
// expect: (Bad::counter\)|value\.counter\b)
// expect: (M = Bad\b|check_sendable<Bad>)
#include "bulkhead/message.hpp"

#include <memory>

struct Bad {
  std::shared_ptr<int> counter;
};

int main() { bulkhead::check_sendable<Bad>(); }
