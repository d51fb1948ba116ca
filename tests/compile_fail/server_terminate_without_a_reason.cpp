// A terminate that does not take the reason (C14).
// expect: static assertion failed.*: bulkhead: terminate of this class
// expect: `void terminate\(const Exit& reason\)`
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

struct Till : bulkhead::GenServer {
  void terminate() {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
