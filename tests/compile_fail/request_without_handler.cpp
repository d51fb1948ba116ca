// Who makes a request has a handler for its response (B12).
// expect: the answer to a request comes as a message
#include <bulkhead/bulkhead.hpp>

#include <string>

struct Server {
  std::string receive(int) { return "text"; }
};

class Requester {
 public:
  void started() { bulkhead::this_actor::request(this, server_, 1); }
  void receive(const bulkhead::Response<int>&) {}

 private:
  bulkhead::Address<Server> server_;
};

void start() { bulkhead::spawn<Requester>(); }
