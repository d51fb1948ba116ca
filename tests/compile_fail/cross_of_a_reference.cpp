// What crosses is moved from, as far as something is handed over: an lvalue is not taken.
// expect: no matching function for call to .cross\b
#include "bulkhead/cross.hpp"

int main() {
  int number = 1;
  static_cast<void>(bulkhead::cross(number));
}
