// expect: cannot cross to or from an isolated actor: it holds a std::function or the like
// expect: (Member = |, )std::function<void ?\(\)>(; int Position = |, )1[;,]
// expect: (Bad::then\)|value\.then\b)
#include "bulkhead/cross.hpp"

#include <functional>

struct Bad {
  std::function<void()> then;
};

int main() { bulkhead::check_crossable<Bad>(); }
