/// What a supervisor is told of its children: how each is started, when again, and how it is ended.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/spawn.hpp"

namespace bulkhead {

class GenServer;

/// When a child that has ended is started again.
enum class Restart : std::uint8_t {
  kPermanent,  ///< always
  kTransient,  ///< when it ended in another way than normally, or by a shutdown
  kTemporary,  ///< never; its specification goes with it
};

/// How a child is ended: asked by Exit::shutdown(), and killed when it lives after a time; or
/// killed at once.
class Shutdown {
 public:
  template <class Rep, class Period>
  Shutdown(std::chrono::duration<Rep, Period> patience)  // NOLINT: a duration is a shutdown
      : patience_(patience) {}
  Shutdown(Timeout patience) : patience_(patience) {}  // NOLINT
  /// As long as it takes. For supervisors, which end their own children first.
  [[nodiscard]] static Shutdown whenever() noexcept { return Shutdown(kForever); }
  [[nodiscard]] static Shutdown at_once() noexcept {
    Shutdown shutdown(kForever);
    shutdown.kills_ = true;
    return shutdown;
  }

  [[nodiscard]] bool kills() const noexcept { return kills_; }
  [[nodiscard]] Timeout patience() const noexcept { return patience_; }
  friend bool operator==(const Shutdown& a, const Shutdown& b) noexcept {
    return a.kills_ == b.kills_ && a.patience_.nanoseconds() == b.patience_.nanoseconds();
  }

 private:
  Timeout patience_;
  bool kills_ = false;
};

enum class ChildType : std::uint8_t { kWorker, kSupervisor };

/// What starting a child comes to: its pid; none (`Pid()`) when it wants to be left out for now; or
/// why it could not be started.
using ChildStart = std::expected<Pid, Exit>;

/// A child, as its supervisor is told of it.
struct ChildSpec {
  /// Its name among its siblings: not empty, and nobody else's.
  std::string id;
  /// Starts it, in the supervisor, each time: an actor that is linked to the supervisor
  /// (SpawnOptions::linked). An exception counts as Exit::panic. `child` makes one.
  std::function<ChildStart()> start;
  Restart restart = Restart::kPermanent;
  /// Default: 5 s for workers, whenever() for supervisors.
  std::optional<Shutdown> shutdown = {};
  ChildType type = ChildType::kWorker;
  /// Its end, unless it is started again, may end the supervisor: SupervisorSpec::auto_shutdown.
  /// Not for permanent ones.
  bool significant = false;
  /// The name in the runtime's registry that it has each time it is started, so that a NamedAddress
  /// finds it again. What child_server, child_state_machine, child_event_manager or
  /// child_supervisor starts has it before its init, or before its children are started; others
  /// when `start` has returned. It has not been started when the name is another's.
  std::optional<std::string> name = {};

  [[nodiscard]] Shutdown how_to_shut_down() const {
    if (shutdown) return *shutdown;
    return type == ChildType::kSupervisor ? Shutdown::whenever()
                                          : Shutdown(std::chrono::seconds(5));
  }
};

namespace otp {
/// The name that the child is to have which the calling supervisor is starting, if any.
[[nodiscard]] std::optional<std::string> child_name();
}  // namespace otp

/// A child of class A, constructed each time from copies of the arguments:
///     child<Worker>("worker", 3)
template <class A, class... Args>
[[nodiscard]] ChildSpec child(std::string id, Args... args) {
  static_assert(!std::is_base_of_v<GenServer, A>,
                "bulkhead: this is a server, and would not be started as one: make a child of it "
                "by child_server");
  ChildSpec spec;
  spec.id = std::move(id);
  spec.start = [arguments = std::tuple<Args...>(std::move(args)...)]() -> ChildStart {
    return std::apply(
        [](const Args&... each) {
          return spawn_with<A>(SpawnOptions{.linked = true}, each...).pid();
        },
        arguments);
  };
  return spec;
}
/// A child that is a green thread: runs a copy of the function each time.
template <class F>
  requires Body<F>
[[nodiscard]] ChildSpec child_thread(std::string id, F body) {
  ChildSpec spec;
  spec.id = std::move(id);
  spec.start = [body = std::move(body)]() -> ChildStart {
    return spawn_with(SpawnOptions{.linked = true}, F(body));
  };
  return spec;
}

}  // namespace bulkhead
