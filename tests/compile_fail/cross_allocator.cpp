// expect: cannot cross to or from an isolated actor: it holds a container with an allocator
// expect: (Bad::numbers\)|value\.numbers\b)
#include "bulkhead/cross.hpp"

#include <memory>
#include <vector>

template <class T>
struct Arena : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Arena<U>;
  };
};

struct Bad {
  std::vector<int, Arena<int>> numbers;
};

int main() { bulkhead::check_crossable<Bad>(); }
