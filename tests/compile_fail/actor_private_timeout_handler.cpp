// expect: static assertion failed.*an actor with receive_timeout\(\) needs a public receive
#include <bulkhead/bulkhead.hpp>

class Actor {
 public:
  bulkhead::Timeout receive_timeout() const { return bulkhead::kForever; }

 private:
  void receive(bulkhead::ReceiveTimeout) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
