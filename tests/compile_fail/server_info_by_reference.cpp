// A handle_info that takes what it is told by reference, which it is not given (C14).
// expect: static assertion failed.*: bulkhead: handle_info of this class
// expect: by value, const& or &&
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

struct Till : bulkhead::GenServer {
  void handle_info(bulkhead::Exited&) {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
