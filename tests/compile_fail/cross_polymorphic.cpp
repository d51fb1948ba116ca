// The object may be of a class derived from it.
// expect: to or from an isolated actor: it holds a std::unique_ptr to a class with virtual
// expect: (Bad::shape\)|value\.shape\b)
#include "bulkhead/cross.hpp"

#include <memory>

class Shape {
 public:
  virtual ~Shape() = default;
};

struct Bad {
  std::unique_ptr<Shape> shape;
};

int main() { bulkhead::check_crossable<Bad>(); }
