// What cannot be sent at all says so, also of plain bytes.
// expect: bulkhead: this message cannot be sent: it holds a raw pointer
// expect: (Bad::value\)|value\.value\b)
// expect: (M = Bad\b|check_crossable<Bad>)
#include "bulkhead/cross.hpp"

#include <utility>

struct Bad {
  int id;
  int* value;
};

int main() { static_cast<void>(bulkhead::cross(Bad{})); }
