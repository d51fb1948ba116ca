// A terminate of an event handler that could be called, but is not (C14).
// expect: static assertion failed.*: bulkhead: terminate of this event handler
// expect: `void terminate\(const Exit& reason\) override`
// expect: (Handler = Siren|check_handler_hooks<Alarm, Siren>)
#include <bulkhead/otp.hpp>

#include <memory>

struct Alarm {};
struct Siren : bulkhead::EventHandler<Alarm> {
  Next handle_event(const Alarm&) override { return Next::kStay; }
  void terminate(bulkhead::Exit) {}
};

void f(const bulkhead::EventManagerRef<Alarm>& events) {
  static_cast<void>(events.swap_handler("bell", "siren", std::make_unique<Siren>()));
}
