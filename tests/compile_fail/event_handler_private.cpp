// An event handler whose functions are private (C14).
// expect: static assertion failed.*: bulkhead: handle_event of this event handler
// expect: `Next handle_event\(const E& event\) override`
// expect: (Handler = Siren|check_handler_hooks<Alarm, Siren>)
#include <bulkhead/otp.hpp>

#include <memory>

struct Alarm {};
class Siren : public bulkhead::EventHandler<Alarm> {
  Next handle_event(const Alarm&) override { return Next::kStay; }
};

void f(const bulkhead::EventManagerRef<Alarm>& events) {
  static_cast<void>(events.add_handler("siren", std::make_unique<Siren>()));
}
