// A class that is final is asked as well, for what is public in it.
// expect: static assertion failed.*bulkhead: receive_timeout\(\) of this class cannot be called
#include <bulkhead/bulkhead.hpp>

struct Actor final {
  bulkhead::Timeout receive_timeout(int) const { return bulkhead::kForever; }
  void receive(bulkhead::ReceiveTimeout) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
