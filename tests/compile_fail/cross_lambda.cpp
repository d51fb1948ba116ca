// What a lambda captures cannot be looked into, even if it is as plain as here.
// expect: cannot cross to or from an isolated actor: it holds a lambda that captures something
// expect: (Position = |, )0[;,]
#include "bulkhead/cross.hpp"

#include <utility>

int main() {
  auto bad = [number = 1] { return number; };
  static_cast<void>(bulkhead::cross(std::move(bad)));
}
