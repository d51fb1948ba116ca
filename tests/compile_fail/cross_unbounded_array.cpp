// expect: cannot cross to or from an isolated actor: it holds a std::unique_ptr to an array
// expect: (Bad::buffer\)|value\.buffer\b)
#include "bulkhead/cross.hpp"

#include <memory>

struct Bad {
  std::unique_ptr<char[]> buffer;
};

int main() { bulkhead::check_crossable<Bad>(); }
