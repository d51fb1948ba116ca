// Shared ownership does not cross, not even of what is const.
// expect: bulkhead: this message cannot cross to or from an isolated actor
// expect: it holds a std::shared_ptr or std::weak_ptr, which shares memory
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::shared_ptr<const int>(; int Position = |, )2[;,]
// expect: (Bad::counter\)|value\.counter\b)
// expect: (M = Bad\b|check_crossable<Bad>)
#include "bulkhead/cross.hpp"

#include <memory>

struct Bad {
  int id;
  std::shared_ptr<const int> counter;
};

int main() { bulkhead::check_crossable<Bad>(); }
