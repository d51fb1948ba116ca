// An init that is private (C14).
// expect: static assertion failed.*: bulkhead: init\(\) of this class
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

class Till : public bulkhead::GenServer {
 private:
  void init() {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
