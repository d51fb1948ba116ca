// Who watches a descriptor has a handler for its readiness (B10).
// expect: that a descriptor is ready comes as a message
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

class Watching {
 public:
  void started() { static_cast<void>(bulkhead::net::watch(this, stream_)); }
  void receive(int) {}

 private:
  bulkhead::net::Stream stream_;
};

void start() { bulkhead::spawn<Watching>(); }
