// Also in a base class.
// expect: static assertion failed.*bulkhead: receive_timeout\(\) of this class cannot be called
#include <bulkhead/bulkhead.hpp>

class Base {
 protected:
  bulkhead::Timeout receive_timeout() const { return bulkhead::kForever; }
};
class Actor : public Base {
 public:
  void receive(bulkhead::ReceiveTimeout) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
