// An enter that does not take the state before (C14).
// expect: static assertion failed.*: bulkhead: enter of this class
// expect: (with (Server|Machine) = Door|check_[a-z]*_hooks<Door)
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
struct Door : bulkhead::GenStateMachine<Door, Mode> {
  Door() : GenStateMachine(Mode::kLocked) {}
  void enter() {}
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
