// expect: cannot cross to or from an isolated actor: it holds a struct with a destructor
// expect: (Bad::file\)|value\.file\b)
#include "bulkhead/cross.hpp"

struct File {
  int descriptor = -1;
  ~File();
};

struct Bad {
  File file;
};

int main() { bulkhead::check_crossable<Bad>(); }
