// A call that the server has no handler for (C14).
// expect: error: static assertion failed.*: bulkhead: this server has no handler for this call
// expect: (Server = Till; Message = |check_call<Till, )Other
#include <bulkhead/otp.hpp>

struct Get {};
struct Other {};
struct Till : bulkhead::GenServer {
  int handle_call(Get) { return 0; }
};

void f(bulkhead::ServerRef<Till> till) { static_cast<void>(till.call(Other{})); }
