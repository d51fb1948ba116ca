// A base that holds something cannot be looked into.
// expect: to or from an isolated actor: it holds a class that is not trivially copyable
// expect: (Member = |, )Bad(; int Position = |, )0[;,]
#include "bulkhead/cross.hpp"

#include <string>

struct Base {
  std::string text;
};

struct Bad : Base {
  std::string more;
};

int main() { bulkhead::check_crossable<Bad>(); }
