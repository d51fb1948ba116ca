// A handle_state_timeout that is private (C14).
// expect: static assertion failed.*: bulkhead: handle_state_timeout\(\) of this class
// expect: `void handle_state_timeout\(\)`
// expect: (with (Server|Machine) = Door|check_[a-z]*_hooks<Door)
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
class Door : public bulkhead::GenStateMachine<Door, Mode> {
 public:
  Door() : GenStateMachine(Mode::kLocked) {}

 private:
  void handle_state_timeout() {}
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
