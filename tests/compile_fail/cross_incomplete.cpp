// expect: cannot cross to or from an isolated actor: it holds something whose type is only declared
// expect: (Holder = |refuse\w*<)Bad[;,]
// expect: (Member = |, )std::unique_ptr<Hidden
// expect: (Bad::hidden\)|value\.hidden\b)
#include "bulkhead/cross.hpp"

#include <memory>

struct Hidden;

struct Bad {
  std::unique_ptr<Hidden> hidden;
};

void check(const Bad& bad) { static_cast<void>(bulkhead::crossed(bad)); }
