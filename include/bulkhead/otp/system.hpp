/// System messages: what any server or supervisor answers, ahead of its backlog, and while it is
/// suspended. For these; users call the functions of sys.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulkhead/ask.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/take.hpp"

namespace bulkhead {

/// What a server has handled since it started.
struct ServerStatistics {
  std::chrono::steady_clock::time_point started;
  std::uint64_t calls = 0;
  std::uint64_t casts = 0;
  std::uint64_t infos = 0;
  std::uint64_t system = 0;
};

/// What happens in a server, for sys::trace and sys::log.
struct ServerEvent {
  enum class Kind : std::uint8_t { kCall, kCast, kInfo, kReply, kContinue, kTimeout };
  Kind kind;
  std::string_view type;  ///< of the message, or the reply; lives as long as the program
};
[[nodiscard]] std::string to_string(const ServerEvent& event);

namespace otp {

struct Suspend {
  using Answer = void;
};
struct Resume {};
struct GetStatistics {};
struct GetStatus {};
struct SetTrace {
  std::function<void(const ServerEvent&)> sink;  // empty: no more
};
struct SetLog {
  std::size_t size;
};
struct GetLog {};
/// Ends it for that reason; answered by its end.
struct StopSystem {
  using Answer = void;
  Exit reason;
};
/// Answered by nothing but the end of one that has failed to start.
struct AwaitEnd {
  using Answer = void;
};
/// Runs a function in it, which reads its state.
template <class F, class R>
struct Look {
  F function;
};
/// The same with one that changes a copy, which becomes the state.
template <class F>
struct Replace {
  F function;
};

template <class M>
inline constexpr bool kIsSystem = false;
template <>
inline constexpr bool kIsSystem<Suspend> = true;
template <>
inline constexpr bool kIsSystem<Resume> = true;
template <>
inline constexpr bool kIsSystem<GetStatistics> = true;
template <>
inline constexpr bool kIsSystem<GetStatus> = true;
template <>
inline constexpr bool kIsSystem<SetTrace> = true;
template <>
inline constexpr bool kIsSystem<SetLog> = true;
template <>
inline constexpr bool kIsSystem<GetLog> = true;
template <>
inline constexpr bool kIsSystem<StopSystem> = true;
template <>
inline constexpr bool kIsSystem<AwaitEnd> = true;
template <class F, class R>
inline constexpr bool kIsSystem<Look<F, R>> = true;
template <class F>
inline constexpr bool kIsSystem<Replace<F>> = true;

/// What is the same for all that answer system messages. Its owner's.
class SystemState {
 public:
  SystemState() = default;
  SystemState(const SystemState&) = delete;
  SystemState& operator=(const SystemState&) = delete;

  /// Notes that something is being handled. A sink that throws is let go.
  void note(ServerEvent::Kind kind, std::string_view type) {
    switch (kind) {
      case ServerEvent::Kind::kCall:
        ++statistics_.calls;
        break;
      case ServerEvent::Kind::kCast:
        ++statistics_.casts;
        break;
      case ServerEvent::Kind::kInfo:
        ++statistics_.infos;
        break;
      case ServerEvent::Kind::kReply:
      case ServerEvent::Kind::kContinue:
      case ServerEvent::Kind::kTimeout:
        break;
    }
    if (kind != ServerEvent::Kind::kReply) last_ = {kind, type};
    if (watched_) [[unlikely]]
      tell({kind, type});
  }
  [[nodiscard]] const ServerEvent& last() const noexcept { return last_; }

 protected:
  void set(SetTrace trace);
  void set(SetLog log);
  [[nodiscard]] std::vector<std::string> events() const;

  ServerStatistics statistics_{std::chrono::steady_clock::now()};
  bool suspended_ = false;

 private:
  void tell(const ServerEvent& event);

  bool watched_ = false;
  ServerEvent last_{ServerEvent::Kind::kContinue, "nothing"};
  std::function<void(const ServerEvent&)> sink_;
  std::size_t log_size_ = 0;
  std::deque<std::string> log_;
};

/// The handlers, for an actor of class A that derives from this. A has
///     bool ends_system() const;            // is it to end after this handler?
///     Pid system_parent() const;           // whose end ends it, also while it is suspended
///     std::string system_status() const;   // what it is like, as text
///     void end_system(const Exit& reason);
template <class A>
class System : public SystemState {
 public:
  /// Answers, and then handles nothing but system messages, until it is to go on or to end. What
  /// else comes waits in the mailbox.
  void receive(Suspend /*message*/, Reply<void> reply) {
    ++statistics_.system;
    reply();
    if (std::exchange(suspended_, true)) return;
    const Pid parent = self().system_parent();
    const auto wanted = [parent](const this_actor::Waiting<A>& message) {
      if (message.priority() == Priority::kSystem) return true;
      const auto* exited = message.template as<Exited>();
      return exited != nullptr && parent && exited->actor == parent;
    };
    while (suspended_ && !self().ends_system()) {
      if (!this_actor::handle_for(&self(), kForever, wanted)) break;
    }
  }
  void receive(Resume /*message*/) {
    ++statistics_.system;
    suspended_ = false;
  }
  ServerStatistics receive(GetStatistics /*message*/) {
    ++statistics_.system;
    return statistics_;
  }
  std::string receive(GetStatus /*message*/) {
    ++statistics_.system;
    return self().system_status();
  }
  void receive(SetTrace message) {
    ++statistics_.system;
    set(std::move(message));
  }
  void receive(SetLog message) {
    ++statistics_.system;
    set(message);
  }
  std::vector<std::string> receive(GetLog /*message*/) {
    ++statistics_.system;
    return events();
  }
  void receive(StopSystem message, Reply<void> reply) {
    ++statistics_.system;
    waiters_.push_back(std::move(reply));
    self().end_system(message.reason);
  }
  void receive(AwaitEnd /*message*/, Reply<void> reply) { waiters_.push_back(std::move(reply)); }

 private:
  A& self() noexcept { return static_cast<A&>(*this); }

  std::vector<Reply<void>> waiters_;  // let go when all else is gone
};

}  // namespace otp
}  // namespace bulkhead
