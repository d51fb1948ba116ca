// expect: cannot cross to or from an isolated actor: it holds a class .*bit-fields
#include "bulkhead/cross.hpp"

#include <string>

struct Bad {
  std::string text;
  unsigned flags : 3;
};

int main() { bulkhead::check_crossable<Bad>(); }
