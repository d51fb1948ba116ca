// A handler with a From, for a message that does not say what it is answered with (C14).
// expect: error: static assertion failed.*: bulkhead: the handler for this call takes a From, so
// expect: (Server = Till; Message = |check_call<Till, )Get
#include <bulkhead/otp.hpp>

struct Get {};
struct Till : bulkhead::GenServer {
  void handle_call(Get, bulkhead::From<int>) {}
};

void f(bulkhead::ServerRef<Till> till) { static_cast<void>(till.call(Get{})); }
