/// Joining: waiting for an actor's end, and taking what its body returned.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "bulkhead/ask.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/wait_group.hpp"

namespace bulkhead {

namespace core {

struct Told;

/// What an actor's body and whoever joins it share.
struct Joint {
  WaitGroup alive{1};
  // Written before it is done.
  Exit exit;
  Told* crash = nullptr;  // the report, which is told when nobody has joined it

  Joint() = default;
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;
  ~Joint() {
    if (crash != nullptr) tell_of_crash();
  }
  void tell_of_crash() noexcept;
  /// Somebody has learned of it.
  void discard_crash() noexcept;
};

template <class R>
struct JointOf : Joint {
  std::optional<R> value;  // written by the body
};
template <>
struct JointOf<void> : Joint {};

/// The state of an actor that runs `body()` once, for whoever joins it.
template <class F, class R>
struct JoinedBody {
  F body;
  std::shared_ptr<JointOf<R>> joint;

  void operator()() {
    if constexpr (std::is_void_v<R>) {
      body();
    } else {
      joint->value.emplace(body());
    }
  }
};

}  // namespace core

/// What became of an actor that was joined: what its body returned, or an Exit that is not normal:
/// a panic, with the exception, or that it was stopped, or shut down. Ask whether there is a value
/// before value(): where there is none, that throws std::bad_expected_access, whose text says
/// nothing of the Exit. error() is the Exit.
template <class R>
using Outcome = std::expected<R, Exit>;

/// The right to join one actor, once. Let go unused, the actor goes on by itself, its value is
/// lost, and of a crash the log is told. Moves, is not copied; one thread or actor at a time uses
/// it.
template <class R>
class JoinHandle {
 public:
  JoinHandle() = default;
  JoinHandle(Pid pid, std::shared_ptr<core::JointOf<R>> joint) noexcept
      : pid_(pid), joint_(std::move(joint)) {}
  JoinHandle(JoinHandle&&) noexcept = default;
  JoinHandle& operator=(JoinHandle&&) noexcept = default;

  [[nodiscard]] Pid pid() const noexcept { return pid_; }
  /// False when it was joined, moved from, or never stood for an actor.
  [[nodiscard]] bool joinable() const noexcept { return joint_ != nullptr; }

  /// Waits until the actor has ended, and all of it is gone. In an actor only the actor waits; a
  /// thread outside is blocked. Throws std::logic_error when not joinable, or in the actor itself;
  /// and, while the actor lives, where nothing may wait: in hooks, in destructors of messages that
  /// are dropped, and inside NoPreempt. The handle is then still joinable. In destructors it waits
  /// also when the caller is to end, as locks do.
  Outcome<R> join() { return *join_for(kForever); }

  /// The same, for a limited time: empty, and still joinable, when that has passed. Zero only
  /// looks, and may do so anywhere.
  std::optional<Outcome<R>> join_for(Timeout timeout) {
    check();
    if (!joint_->alive.wait_for(timeout)) return std::nullopt;
    const auto joint = std::move(joint_);
    if (joint->crash != nullptr) joint->discard_crash();
    if (!joint->exit.is_normal()) return std::unexpected(joint->exit);
    if constexpr (std::is_void_v<R>) {
      return Outcome<R>();
    } else {
      return Outcome<R>(*std::move(joint->value));
    }
  }

 private:
  void check() const;

  Pid pid_;
  std::shared_ptr<core::JointOf<R>> joint_;
};

namespace core {
[[noreturn]] void refuse_join(bool joinable);
}  // namespace core

template <class R>
void JoinHandle<R>::check() const {
  if (!joinable() || core::is_self(pid_)) core::refuse_join(joinable());
}

}  // namespace bulkhead
