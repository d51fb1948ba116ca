// expect: cannot cross to or from an isolated actor: it holds a std::shared_ptr or std::weak_ptr
// expect: (Holder = |refuse\w*<)std::vector<std::weak_ptr<const int>
// expect: (M = Bad\b|check_crossable<Bad>)
#include "bulkhead/cross.hpp"

#include <memory>
#include <vector>

struct Bad {
  std::vector<std::weak_ptr<const int>> watched;
};

int main() { bulkhead::check_crossable<Bad>(); }
