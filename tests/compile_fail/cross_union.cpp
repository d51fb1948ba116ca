// expect: to or from an isolated actor: it holds a union that is not trivially copyable
// expect: (Bad::either\)|value\.either\b)
#include "bulkhead/cross.hpp"

#include <string>

union Either {
  Either() : number(0) {}
  Either(Either&&) noexcept : number(0) {}
  ~Either() {}
  int number;
  std::string text;
};

struct Bad {
  Either either;
};

int main() { bulkhead::check_crossable<Bad>(); }
