/// GenStateMachine: a server whose handlers depend on the state that it is in.
///
///     enum class Mode { kOpen, kLocked };
///     class Door : public bulkhead::GenStateMachine<Door, Mode> {
///      public:
///       Door() : GenStateMachine(Mode::kLocked) {}
///       void handle_cast(const Key& key) { if (key.fits) next_state(Mode::kOpen); }
///       void handle_cast(const Visitor&) { if (state() == Mode::kLocked) postpone(); }
///       void enter(Mode before) { if (state() == Mode::kOpen) state_timeout(10s); }
///       void handle_state_timeout() { next_state(Mode::kLocked); }
///     };
///     auto door = bulkhead::start_state_machine<Door>({});
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulkhead/otp/gen_server.hpp"
#include "bulkhead/otp/named_server.hpp"
#include "bulkhead/timer.hpp"

namespace bulkhead {

namespace otp {

template <class M>
class Machine;

/// Something that a state machine is to handle, kept for now.
template <class M>
struct MachineEvent {
  MachineEvent() = default;
  MachineEvent(const MachineEvent&) = delete;
  MachineEvent& operator=(const MachineEvent&) = delete;
  virtual ~MachineEvent() = default;
  virtual void handle(M& machine) = 0;
};

/// A timeout is due; void when another one of its name has been set since.
struct TimeoutDue {
  std::uint64_t number;
};

[[noreturn]] void refuse_in_enter(const char* function);

}  // namespace otp

/// The base of state machines: Self is the class that derives from it, State an enum or any type
/// that can be compared and copied, such as a variant with a type for each state. Self has, each
/// public, those of these functions that it needs:
///
///     InitResult init();  or  void init();
///     void enter(const State& before);             // after each change of state, and at the start
///     R handle_call(const M&);                     // R: M::Answer
///     void handle_call(const M&, From<M::Answer>&);
///     void handle_cast(const M&);
///     void handle_info(const M&);
///     void handle_internal(const E&);              // see next_event
///     void handle_state_timeout();                 // see state_timeout
///     void handle_timeout(std::string_view name);  // see set_timeout
///
/// and terminate, format_status, report as servers do; as with those, one that cannot be called
/// does not compile. What a handler asks for is done when it has returned: first the change of
/// state, with `enter`; then internal events; then what was postponed, if the state has changed;
/// then what comes by the mailbox.
template <class Self, std::equality_comparable State>
class GenStateMachine : public otp::Hooks {
 public:
  GenStateMachine(const GenStateMachine&) = delete;
  GenStateMachine& operator=(const GenStateMachine&) = delete;

  void enter(otp::NoHook) const;
  void handle_state_timeout(otp::NoHook) const;

 protected:
  explicit GenStateMachine(State first) : state_(std::move(first)) {}
  ~GenStateMachine() = default;

  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// Changes the state. Not in `enter`.
  void next_state(State next) {
    if (entering_) otp::refuse_in_enter("next_state");
    next_.emplace(std::move(next));
  }
  /// Has this message handled again when the state has changed; an answer that the handler returns
  /// is not given. Not in `enter`.
  void postpone() {
    if (entering_) otp::refuse_in_enter("postpone");
    postponed_ = true;
  }
  /// Has `handle_internal(event)` run before any message: those of one handler in order.
  template <class E>
  void next_event(E event) {
    static_assert(otp::HasInternal<Self, E>,
                  "bulkhead: next_event: this class has no public handle_internal that takes this "
                  "event (E above) by value or const&");
    struct Internal final : otp::MachineEvent<Self> {
      explicit Internal(E e) : event(std::move(e)) {}
      void handle(Self& machine) override { machine.handle_internal(std::as_const(event)); }
      E event;
    };
    internal_.push_back(std::make_unique<Internal>(std::move(event)));
  }
  /// Has handle_state_timeout() run when the state has stayed the same for so long; kForever: not.
  void state_timeout(Timeout time) {
    static_assert(otp::HasStateTimeout<Self>,
                  "bulkhead: state_timeout: this class has no public handle_state_timeout()");
    set(state_timer_, time);
  }
  /// Has handle_timeout(name) run after that time, whatever the state is then. One of a name takes
  /// the place of another; kForever ends it.
  void set_timeout(const std::string& name, Timeout time) {
    static_assert(otp::HasNamedTimeout<Self>,
                  "bulkhead: set_timeout: this class has no public "
                  "handle_timeout(std::string_view name)");
    set(timers_[name], time);
  }
  void cancel_timeout(const std::string& name) { set_timeout(name, kForever); }
  /// As that of servers.
  void stop(Exit reason = Exit::normal()) {
    if (!stops_) stops_.emplace(std::move(reason));
  }

 private:
  template <class>
  friend class otp::Machine;

  struct NamedTimer {
    TimerRef timer;
    std::uint64_t number = 0;  // 0: it does not run
  };

  void set(NamedTimer& named, Timeout time) {
    if (named.number != 0) static_cast<void>(cancel(named.timer));
    named.number = 0;
    if (time.is_forever()) return;
    named.number = ++timeouts_;
    named.timer = send_after(time, this_actor::address<otp::Server<otp::Machine<Self>>>(),
                             otp::TimeoutDue{named.number});
  }

  State state_;
  std::optional<State> next_;
  bool postponed_ = false;
  bool entering_ = false;
  std::optional<Exit> stops_;
  std::vector<std::unique_ptr<otp::MachineEvent<Self>>> internal_;
  NamedTimer state_timer_;
  std::map<std::string, NamedTimer> timers_;
  std::uint64_t timeouts_ = 0;
};

namespace otp {

template <class M, class C>
concept MachineAnswers = handler::HasAnswer<C> && requires(M& machine, const C& message) {
  machine.handle_call(message);
};
template <class M, class C>
concept MachineTakesFrom = handler::HasAnswer<C> &&
    requires(M& machine, const C& message, From<typename C::Answer>& from) {
  machine.handle_call(message, from);
};
template <class M, class C>
concept MachineHandlesCast = requires(M& machine, const C& message) {
  machine.handle_cast(message);
};
template <class M, class C>
concept MachineHandlesInfo = requires(M& machine, const C& message) {
  machine.handle_info(message);
};

/// The server around a state machine.
template <class M>
class Machine final : public GenServer {
  using State = std::decay_t<decltype(M::state_)>;

 public:
  template <class... Args>
    requires std::is_constructible_v<M, Args...>
  explicit Machine(Args&&... args) : machine_(std::forward<Args>(args)...) {
    check_machine_hooks<M, State>();
  }

  /// For sys::get_state.
  [[nodiscard]] const M& machine() const noexcept { return machine_; }
  [[nodiscard]] const auto& state() const noexcept { return machine_.state_; }

  InitResult init() {
    InitResult result = InitResult::ok();
    if constexpr (HasInit<M>) {
      if constexpr (std::is_void_v<decltype(machine_.init())>) {
        machine_.init();
      } else {
        result = machine_.init();
      }
    }
    if (result.kind() == InitResult::Kind::kOk) {
      if (machine_.next_) machine_.state_ = *std::exchange(machine_.next_, std::nullopt);
      enter(machine_.state_);
      go_on();
    }
    return result;
  }

  template <class C>
    requires(MachineAnswers<M, C> || MachineTakesFrom<M, C>)
  void handle_call(C message, From<typename C::Answer> from) {
    take(CallEvent<C>(std::move(message), std::move(from)));
  }
  template <class C>
    requires MachineHandlesCast<M, C>
  void handle_cast(C message) { take(CastEvent<C>(std::move(message))); }
  template <class C>
    requires MachineHandlesInfo<M, C>
  void handle_info(C message) { take(InfoEvent<C>(std::move(message))); }
  void handle_info(TimeoutDue due) {
    if (due.number == machine_.state_timer_.number) {
      machine_.state_timer_.number = 0;
      if constexpr (HasStateTimeout<M>) take(StateTimeout());
      return;
    }
    for (auto& [name, timer] : machine_.timers_) {
      if (timer.number != due.number) continue;
      timer.number = 0;
      if constexpr (HasNamedTimeout<M>) take(NamedTimeout(name));
      return;
    }
  }

  void terminate(const Exit& reason) { machine_.terminate(reason); }
  void report(std::string_view text) { machine_.report(text); }
  [[nodiscard]] std::string format_status() const {
    if constexpr (HasStatus<M>) {
      return machine_.format_status();
    } else {
      return std::string(type_name<M>());
    }
  }

 private:
  using Event = MachineEvent<M>;

  template <class C>
  struct CallEvent final : Event {
    CallEvent(C m, From<typename C::Answer> f) : message(std::move(m)), from(std::move(f)) {}
    CallEvent(CallEvent&& other) noexcept
        : message(std::move(other.message)), from(std::move(other.from)) {}
    void handle(M& machine) override {
      if constexpr (MachineTakesFrom<M, C>) {
        machine.handle_call(std::as_const(message), from);
      } else if constexpr (std::is_void_v<typename C::Answer>) {
        machine.handle_call(std::as_const(message));
        if (!machine.postponed_) from.reply();
      } else {
        typename C::Answer answer = machine.handle_call(std::as_const(message));
        if (!machine.postponed_) from.reply(std::move(answer));
      }
    }
    C message;
    From<typename C::Answer> from;
  };
  template <class C>
  struct CastEvent final : Event {
    explicit CastEvent(C m) : message(std::move(m)) {}
    CastEvent(CastEvent&& other) noexcept : message(std::move(other.message)) {}
    void handle(M& machine) override { machine.handle_cast(std::as_const(message)); }
    C message;
  };
  template <class C>
  struct InfoEvent final : Event {
    explicit InfoEvent(C m) : message(std::move(m)) {}
    InfoEvent(InfoEvent&& other) noexcept : message(std::move(other.message)) {}
    void handle(M& machine) override { machine.handle_info(std::as_const(message)); }
    C message;
  };
  struct StateTimeout final : Event {
    StateTimeout() = default;
    StateTimeout(StateTimeout&& /*other*/) noexcept {}
    void handle(M& machine) override { machine.handle_state_timeout(); }
  };
  struct NamedTimeout final : Event {
    explicit NamedTimeout(std::string n) : name(std::move(n)) {}
    NamedTimeout(NamedTimeout&& other) noexcept : name(std::move(other.name)) {}
    void handle(M& machine) override { machine.handle_timeout(std::string_view(name)); }
    std::string name;
  };

  // What has come by the mailbox.
  template <class E>
  void take(E event) {
    machine_.postponed_ = false;
    event.handle(machine_);
    if (std::exchange(machine_.postponed_, false)) {
      postponed_.push_back(std::make_unique<E>(std::move(event)));
    }
    go_on();
  }

  // After each handler: the change of state, and then all that comes before the next message.
  void go_on() {
    for (;;) {
      settle();
      if (machine_.stops_) return stop(*machine_.stops_);
      if (pending_.empty()) return;
      std::unique_ptr<Event> event = std::move(pending_.front());
      pending_.pop_front();
      machine_.postponed_ = false;
      event->handle(machine_);
      if (std::exchange(machine_.postponed_, false)) postponed_.push_back(std::move(event));
    }
  }

  // Internal events go in front of what was postponed.
  void settle() {
    std::optional next = std::exchange(machine_.next_, std::nullopt);
    if (next && !(*next == machine_.state_)) {
      const auto before = std::exchange(machine_.state_, *std::move(next));
      machine_.set(machine_.state_timer_, kForever);
      put_in_front(postponed_);
      enter(before);
    }
    put_in_front(machine_.internal_);
  }
  void enter(const State& before) {
    if constexpr (HasEnter<M, State>) {
      const State was(before);
      machine_.entering_ = true;
      machine_.enter(was);
      machine_.entering_ = false;
    }
  }
  void put_in_front(std::vector<std::unique_ptr<Event>>& events) {
    pending_.insert(pending_.begin(), std::make_move_iterator(events.begin()),
                    std::make_move_iterator(events.end()));
    events.clear();
  }

  M machine_;
  std::deque<std::unique_ptr<Event>> pending_;
  std::vector<std::unique_ptr<Event>> postponed_;
};

}  // namespace otp

/// How a state machine is called, and looked into by sys.
template <class M>
using StateMachineRef = ServerRef<otp::Machine<M>>;

/// As start_server.
template <class M, class... Args>
[[nodiscard]] std::expected<StateMachineRef<M>, StartError> start_state_machine(
    const ServerOptions& options, Args&&... args) {
  return start_server<otp::Machine<M>>(options, std::forward<Args>(args)...);
}
template <class M, class... Args>
[[nodiscard]] std::expected<StateMachineRef<M>, StartError> start_state_machine(
    Runtime& runtime, const ServerOptions& options, Args&&... args) {
  return start_server<otp::Machine<M>>(runtime, options, std::forward<Args>(args)...);
}
template <class M, class... Args>
[[nodiscard]] ChildSpec child_state_machine(std::string id, Args... args) {
  return child_server<otp::Machine<M>>(std::move(id), std::move(args)...);
}

/// A state machine by the name that it has in the registry: see NamedServer.
template <class M>
using NamedStateMachine = NamedServer<otp::Machine<M>>;

}  // namespace bulkhead
