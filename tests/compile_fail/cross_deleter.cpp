// expect: cannot cross to or from an isolated actor: it holds a std::unique_ptr with a deleter
// expect: (Bad::buffer\)|value\.buffer\b)
#include "bulkhead/cross.hpp"

#include <memory>

struct Free {
  void operator()(char* memory) const;
};

struct Bad {
  std::unique_ptr<char, Free> buffer;
};

int main() { bulkhead::check_crossable<Bad>(); }
