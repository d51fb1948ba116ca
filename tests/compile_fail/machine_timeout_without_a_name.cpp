// A handle_timeout that does not take the name (C14).
// expect: static assertion failed.*: bulkhead: handle_timeout of this class
// expect: `void handle_timeout\(std::string_view name\)`
// expect: (with (Server|Machine) = Door|check_[a-z]*_hooks<Door)
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
struct Door : bulkhead::GenStateMachine<Door, Mode> {
  Door() : GenStateMachine(Mode::kLocked) {}
  void handle_timeout() {}
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
