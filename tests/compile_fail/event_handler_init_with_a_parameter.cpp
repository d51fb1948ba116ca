// An init of an event handler that hides the one that is called (C14).
// expect: static assertion failed.*: bulkhead: init of this event handler
// expect: `void init\(\) override`
// expect: (Handler = Siren|check_handler_hooks<Alarm, Siren>)
#include <bulkhead/otp.hpp>

#include <memory>

struct Alarm {};
struct Siren : bulkhead::EventHandler<Alarm> {
  Next handle_event(const Alarm&) override { return Next::kStay; }
  void init(int) {}
};

void f(const bulkhead::EventManagerRef<Alarm>& events) {
  static_cast<void>(events.add_handler("siren", std::make_unique<Siren>()));
}
