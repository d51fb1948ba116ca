// What its destructor releases, a copy of its members would release again.
// expect: cannot cross to or from an isolated actor: it holds a struct with a destructor
// expect: (Member = |, )Handle(; int Position = |, )2[;,]
// expect: (Bad::handle\)|value\.handle\b)
#include "bulkhead/cross.hpp"

#include <string>

struct Handle {
  std::string name;
  int number = -1;
  ~Handle();
};

struct Bad {
  int id;
  Handle handle;
};

int main() { bulkhead::check_crossable<Bad>(); }
