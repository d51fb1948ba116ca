// All forms of hooks that are called (C14).
// expect-ok
#include <bulkhead/otp.hpp>

#include <memory>
#include <string>
#include <string_view>

struct Tick {};
struct Till final : bulkhead::GenServer {
  bulkhead::InitResult init() { return bulkhead::InitResult::ok(); }
  void handle_continue() {}
  void handle_timeout() {}
  void handle_info(const Tick&) {}
  void handle_info(const bulkhead::Down&) {}
  void handle_info(bulkhead::Exited&&) {}
  void terminate(const bulkhead::Exit&) noexcept {}
  const char* format_status() const { return "open"; }
  void report(std::string_view) {}
};
struct Idle : bulkhead::GenServer {
  void handle_info(Tick) {}
};
struct Common : bulkhead::GenServer {
  void init() {}
  void terminate(bulkhead::Exit) {}

 protected:
  std::string status = {};
};
struct Derived : Common {
  std::string format_status() const { return status; }
};

enum class Mode { kOpen, kLocked };
struct Door final : bulkhead::GenStateMachine<Door, Mode> {
  Door() : GenStateMachine(Mode::kLocked) {}
  void init() { state_timeout(std::chrono::seconds(1)); }
  void enter(Mode) { set_timeout("night", std::chrono::hours(8)); }
  void handle_state_timeout() { next_event(Tick()); }
  void handle_timeout(const std::string_view&) {}
  void handle_internal(Tick) {}
  void handle_info(bulkhead::Down) {}
  std::string format_status() const { return {}; }
  void report(std::string_view) {}
};
struct Gate : bulkhead::GenStateMachine<Gate, int> {
  Gate() : GenStateMachine(0) {}
};

struct Alarm {};
struct Siren : bulkhead::EventHandler<Alarm> {
  void init() noexcept override {}
  Next handle_event(const Alarm&) override { return Next::kStay; }
};
struct Louder final : Siren {
  void terminate(const bulkhead::Exit&) override {}
};

void f(const bulkhead::EventManagerRef<Alarm>& events) {
  static_cast<void>(bulkhead::start_server<Till>({}));
  static_cast<void>(bulkhead::start_server<Idle>({}));
  static_cast<void>(bulkhead::start_server<Derived>({}));
  static_cast<void>(bulkhead::start_state_machine<Door>({}));
  static_cast<void>(bulkhead::start_state_machine<Gate>({}));
  static_cast<void>(events.add_handler("siren", std::make_unique<Siren>()));
  std::unique_ptr<bulkhead::EventHandler<Alarm>> any = std::make_unique<Louder>();
  static_cast<void>(events.add_handler("any", std::move(any)));
  static_cast<void>(events.swap_handler("any", "louder", std::make_unique<Louder>()));
}
