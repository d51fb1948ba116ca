// A format_status that is not const (C14).
// expect: static assertion failed.*: bulkhead: format_status\(\) of this class
// expect: `std::string format_status\(\) const`
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

#include <string>

struct Till : bulkhead::GenServer {
  std::string format_status() { return {}; }
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
