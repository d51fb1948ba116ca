// expect: static assertion failed.*bulkhead: spawn was given an object that cannot be called
#include <bulkhead/bulkhead.hpp>

void make() {
  bulkhead::spawn_with({}, [](int number) { return number; });
}
