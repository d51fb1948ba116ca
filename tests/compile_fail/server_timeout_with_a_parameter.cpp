// A handle_timeout that wants an argument (C14).
// expect: static assertion failed.*: bulkhead: handle_timeout\(\) of this class
// expect: `void handle_timeout\(\)`
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

struct Till : bulkhead::GenServer {
  void handle_timeout(bulkhead::ReceiveTimeout) {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
