// A handle_info that is protected (C14).
// expect: static assertion failed.*: bulkhead: handle_info of this class
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

class Till : public bulkhead::GenServer {
 protected:
  void handle_info(const bulkhead::Down&) {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
