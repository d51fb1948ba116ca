// A16
// expect: an actor with receive_timeout\(\) needs a public receive\(bulkhead::ReceiveTimeout\)
#include <bulkhead/bulkhead.hpp>

#include <chrono>

struct Actor {
  std::chrono::milliseconds receive_timeout() const { return std::chrono::milliseconds(5); }
  void receive(int) {}
};

void make(bulkhead::Runtime& runtime) { runtime.spawn<Actor>(); }
