// A report that takes no text (C14).
// expect: static assertion failed.*: bulkhead: report of this class
// expect: `void report\(std::string_view text\)`
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

struct Till : bulkhead::GenServer {
  void report(int) const {}
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
