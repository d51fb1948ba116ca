// A handle_continue that is private (C14).
// expect: static assertion failed.*: bulkhead: handle_continue\(\) of this class
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

class Till : public bulkhead::GenServer {
  void handle_continue() {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
