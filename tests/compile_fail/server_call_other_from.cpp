// A handler with a From of another type than the message is answered with (C14).
// expect: error: static assertion failed.*: bulkhead: the handler for this call takes a From of an
// expect: (Server = Till; Message = |check_call<Till, )Get
#include <bulkhead/otp.hpp>

#include <string>

struct Get {
  using Answer = std::string;
};
struct Till : bulkhead::GenServer {
  void handle_call(Get, bulkhead::From<int>) {}
};

void f(bulkhead::ServerRef<Till> till) { static_cast<void>(till.send_request(Get{})); }
