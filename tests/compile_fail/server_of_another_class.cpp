// A class that is no server (C14).
// expect: error: static assertion failed.*: bulkhead: start_server starts a class that
#include <bulkhead/otp.hpp>

struct Till {
  int handle_call(int) { return 0; }
};

void f(bulkhead::Runtime& runtime) { static_cast<void>(bulkhead::start_server<Till>(runtime, {})); }
