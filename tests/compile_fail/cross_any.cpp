// expect: cannot cross to or from an isolated actor: it holds a std::any
// expect: (Bad::whatever\)|value\.whatever\b)
#include "bulkhead/cross.hpp"

#include <any>

struct Bad {
  std::any whatever;
};

int main() { bulkhead::check_crossable<Bad>(); }
