// An actor is joined once: the right to it moves (C4).
// expect: (use of deleted function|call to implicitly-deleted copy constructor of) .*JoinHandle
#include <bulkhead/bulkhead.hpp>

int use(const bulkhead::JoinHandle<int>& handle) {
  auto second = handle;
  return second.join().value_or(0);
}
