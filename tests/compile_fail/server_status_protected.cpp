// A format_status that is protected (C14).
// expect: static assertion failed.*: bulkhead: format_status\(\) of this class
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

#include <string>

class Till final : public bulkhead::GenServer {
 protected:
  std::string format_status() const { return {}; }
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
