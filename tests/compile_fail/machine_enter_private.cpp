// An enter that is private (C14).
// expect: static assertion failed.*: bulkhead: enter of this class
// expect: `void enter\(const State& before\)`
// expect: (with (Server|Machine) = Door|check_[a-z]*_hooks<Door)
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
class Door final : public bulkhead::GenStateMachine<Door, Mode> {
 public:
  Door() : GenStateMachine(Mode::kLocked) {}

 private:
  void enter(Mode) {}
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
