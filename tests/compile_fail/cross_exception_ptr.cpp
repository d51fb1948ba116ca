// expect: cannot cross to or from an isolated actor: it holds a std::exception_ptr
// expect: (Bad::failure\)|value\.failure\b)
#include "bulkhead/cross.hpp"

#include <exception>

struct Bad {
  std::exception_ptr failure;
};

int main() { bulkhead::check_crossable<Bad>(); }
