/// CancellationScope: children that do not outlive the frame that they were spawned in.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include "bulkhead/duration.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/unwind.hpp"

namespace bulkhead {

class CancellationScope;

namespace core {

/// One child's place in its scope: from before it is made until it is gone.
class ScopeMember {
 public:
  explicit ScopeMember(CancellationScope& scope);
  ScopeMember(const ScopeMember&) = delete;
  ScopeMember& operator=(const ScopeMember&) = delete;
  ~ScopeMember();

  /// In the child: false when it is not to begin, since the scope has been cancelled.
  [[nodiscard]] bool begin();
  /// In the child, in a catch block: what it has thrown is the scope's failure. Not for what
  /// unwinds it.
  void failed() noexcept;

 private:
  friend class bulkhead::CancellationScope;

  CancellationScope& scope_;
  ScopeMember* next_ = nullptr;
  ScopeMember* prev_ = nullptr;
  Pid pid_;
  bool linked_ = false;
};

template <class F>
class ScopeChild {
 public:
  template <class G>
  ScopeChild(CancellationScope& scope, G&& function)
      : member_(scope), function_(std::forward<G>(function)) {}

  void operator()() {
    if (!member_.begin()) return;
    noticing([this] { function_(); },
             [this](Leaves what) {
               if (what == Leaves::kFailure) member_.failed();
             });
  }

 private:
  ScopeMember member_;  // first, so that it outlives what the function holds
  F function_;
};

}  // namespace core

/// A scope in an actor's frame, with children: actors that run a function. Whoever leaves the
/// scope, in whatever way, waits for all of them; so they may refer to what the frame holds. That
/// is also so when the owner is stopped, or the runtime shuts down.
///
/// When a child fails, the others are cancelled. When the owner leaves the scope by an exception,
/// or is stopped, all are. A failure is told as that of any actor: to Config::on_death, or on
/// stderr.
class CancellationScope {
 public:
  /// Throws std::logic_error outside actors, and where nothing may wait: in hooks and destructors
  /// of messages that are dropped.
  CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;
  /// Waits for all children, without a limit, also when the owner is to end. What they failed with
  /// is lost, unless wait() has told it.
  ~CancellationScope();

  /// Makes a child. The owner does that, or any of its children. In a scope that has been cancelled
  /// the child ends before it begins. Throws SpawnError, and ConfigError for options that make no
  /// sense.
  template <class F>
    requires std::invocable < std::decay_t<F>
  & > Pid spawn(F&& function) { return spawn_with(SpawnOptions{}, std::forward<F>(function)); }
  template <class F>
    requires std::invocable < std::decay_t<F>
  & > Pid spawn_with(const SpawnOptions& options, F&& function) {
    using Function = std::decay_t<F>;
    using Child = core::ScopeChild<Function>;
    core::check_actor<Child>();
    return core::spawn<Child>(core::kCallableClass<Function, Child>, options, nullptr, *this,
                              std::forward<F>(function));
  }

  /// Has all children unwound, each at its next wait; if the caller is one of them, all others.
  /// Does not wait for them. Throws std::logic_error outside actors.
  void cancel();
  /// Any thread, while the scope lives.
  [[nodiscard]] bool cancelled() const noexcept;

  /// Waits until all children have ended. If one has failed, rethrows what the first of them threw;
  /// once. Throws std::logic_error in a child, which would wait for itself; and, when it has to
  /// wait, inside NoPreempt.
  void wait() { static_cast<void>(wait_for(kForever)); }
  /// The same, for a limited time: false when they have not ended in it. Throws as wait() does.
  [[nodiscard]] bool wait_for(Timeout timeout);

 private:
  friend class core::ScopeMember;
  struct State;

  [[nodiscard]] State& state() const noexcept;
  void refuse_a_child() const;

  alignas(8) mutable std::byte state_[80];
  int exceptions_;
};

}  // namespace bulkhead
