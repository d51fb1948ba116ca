// Timeouts that nothing would be told of (C14).
// expect: bulkhead: state_timeout: this class has no public handle_state_timeout\(\)
// expect: bulkhead: set_timeout: this class has no public handle_timeout\(std::string_view
// expect: static assertion failed.*: bulkhead: next_event: this class has no public handle_internal
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
struct Key {};
struct Door : bulkhead::GenStateMachine<Door, Mode> {
  Door() : GenStateMachine(Mode::kLocked) {}
  void handle_cast(const Key& key) {
    state_timeout(std::chrono::seconds(1));
    set_timeout("night", std::chrono::hours(8));
    next_event(key);
  }
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
