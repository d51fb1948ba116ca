// A handle_info that is private (C14).
// expect: (EachInfoMustBePublic<Door>|'handle_info' is a private member of 'Door')
// expect: private
#include <bulkhead/otp.hpp>

enum class Mode { kOpen, kLocked };
class Door : public bulkhead::GenStateMachine<Door, Mode> {
 public:
  Door() : GenStateMachine(Mode::kLocked) {}

 private:
  void handle_info(const bulkhead::Exited&) {}
};

void f() { static_cast<void>(bulkhead::start_state_machine<Door>({})); }
