/// Joining: waiting for an actor's end, and taking what its body returned.
#pragma once

#include <expected>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "bulkhead/ask.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/wait.hpp"

namespace bulkhead {

namespace core {

/// What an actor's body and whoever joins it share. Counted; the last one destroys it.
class Joint {
 public:
  Joint();
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;

  struct State;

  /// The actor: does somebody still want to know how it ends?
  [[nodiscard]] bool is_awaited() const noexcept;
  /// The actor, once: it is ending. Gives up its share, and with it, if nobody will join it, what
  /// its body returned.
  [[nodiscard]] State* let_go(const Exit& exit) noexcept;
  /// After that, once: it has ended, and all of it is gone.
  static void end(State& state) noexcept;
  /// The joiner, one at a time: waits for the end. False when time is up, or when the joiner is to
  /// end itself and cannot be unwound.
  [[nodiscard]] bool wait(Timeout timeout);
  /// After that.
  [[nodiscard]] const Exit& exit() const noexcept;

  struct Release {
    void operator()(Joint* joint) const noexcept { joint->release(); }
  };

 protected:
  virtual ~Joint();

 private:
  [[nodiscard]] bool announce(const Waiter& waiter) noexcept;
  void release() noexcept;

  State* state_;
};

template <class T>
using JointPointer = std::unique_ptr<T, Joint::Release>;

template <class R>
struct JointOf final : Joint {
  std::optional<R> value;  // written by the body before its end
};
template <>
struct JointOf<void> final : Joint {};

/// The state of an actor that runs `body()` once, for whoever joins it.
template <class F, class R>
struct JoinedBody {
  F body;
  JointPointer<JointOf<R>> joint;

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
/// a panic, with the exception, or that it was stopped, or shut down.
template <class R>
using Outcome = std::expected<R, Exit>;

/// The right to join one actor, once. Let go unused, the actor goes on by itself, and its value is
/// lost. Moves, is not copied; one thread or actor at a time uses it.
template <class R>
class JoinHandle {
 public:
  JoinHandle() = default;
  JoinHandle(Pid pid, core::JointPointer<core::JointOf<R>> joint) noexcept
      : pid_(pid), joint_(std::move(joint)) {}

  [[nodiscard]] Pid pid() const noexcept { return pid_; }
  /// False when it was joined, moved from, or never stood for an actor.
  [[nodiscard]] bool joinable() const noexcept { return joint_ != nullptr; }

  /// Waits until the actor has ended, and all of it is gone. In an actor only the actor waits; a
  /// thread outside is blocked. Throws std::logic_error when not joinable, or in the actor itself.
  Outcome<R> join() {
    auto outcome = join_for(kForever);
    // Only in a destructor of an actor that is itself to end does this wait end early.
    if (!outcome) return std::unexpected(Exit::stopped());
    return *std::move(outcome);
  }

  /// The same, for a limited time: empty, and still joinable, when that has passed.
  std::optional<Outcome<R>> join_for(Timeout timeout) {
    check();
    if (!joint_->wait(timeout)) return std::nullopt;
    const auto joint = std::move(joint_);
    if (!joint->exit().is_normal()) return std::unexpected(joint->exit());
    if constexpr (std::is_void_v<R>) {
      return Outcome<R>();
    } else {
      if (!joint->value) return std::unexpected(joint->exit());  // it was stopped before its start
      return Outcome<R>(*std::move(joint->value));
    }
  }

 private:
  void check() const;

  Pid pid_;
  core::JointPointer<core::JointOf<R>> joint_;
};

namespace core {
[[noreturn]] void refuse_join(bool joinable);
}  // namespace core

template <class R>
void JoinHandle<R>::check() const {
  if (!joinable() || core::is_self(pid_)) core::refuse_join(joinable());
}

}  // namespace bulkhead
