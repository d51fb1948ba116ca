// An init whose result means nothing (C14).
// expect: static assertion failed.*: bulkhead: init\(\) of this class
// expect: returns what means nothing
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

struct Till : bulkhead::GenServer {
  bool init() { return false; }
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
