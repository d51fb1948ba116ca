// A format_status that is not const (C14).
// expect: static assertion failed.*: bulkhead: format_status\(\) of this class
// expect: `std::string format_status\(\) const`
// expect: (with (Server|Machine) = Door|check_[a-z]*_hooks<Door)
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
#include <string>

struct Door : bulkhead::GenStateMachine<Door, Mode> {
  Door() : GenStateMachine(Mode::kLocked) {}
  std::string format_status() { return {}; }
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
