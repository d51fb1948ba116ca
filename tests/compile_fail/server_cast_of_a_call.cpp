// A cast of what can only be called (C14).
// expect: error: static assertion failed.*: bulkhead: this server has no handler for this cast
// expect: (Server = Till; Message = |check_cast<Till, )Get
#include <bulkhead/otp.hpp>

struct Get {};
struct Till : bulkhead::GenServer {
  int handle_call(Get) { return 0; }
};

void f(bulkhead::ServerRef<Till> till) { till.cast(Get{}); }
