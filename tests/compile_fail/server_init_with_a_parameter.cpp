// An init that wants an argument, in a class that is final (C14).
// expect: static assertion failed.*: bulkhead: init\(\) of this class
// expect: InitResult init\(\)
// expect: (with (Server|Machine) = Till|check_[a-z]*_hooks<Till)
#include <bulkhead/otp.hpp>

struct Till final : bulkhead::GenServer {
  bulkhead::InitResult init(int) { return bulkhead::InitResult::ok(); }
};

void f() { static_cast<void>(bulkhead::start_server<Till>({})); }
