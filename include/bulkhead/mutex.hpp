/// Mutex: a lock for actors, and for threads outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "bulkhead/duration.hpp"
#include "bulkhead/message.hpp"
#include "bulkhead/pid.hpp"

namespace bulkhead {

/// How long a lock is waited for when no other limit is given.
inline constexpr std::chrono::seconds kDefaultLockTimeout{30};

/// A lock could not be had in time. Its text names the holder, and tells how long was waited.
struct LockTimeout : std::runtime_error {
  LockTimeout(const std::string& text, Pid holder_then)
      : std::runtime_error(text), holder(holder_then) {}
  /// Who held it then: none when that was a thread outside, or nobody any more.
  Pid holder;
};

/// A lock that one actor, or one thread outside, holds at a time, on whatever core and in whatever
/// runtime. Who waits for it blocks no core. First come, first served. It can only be held by a
/// guard, so it is let go when its holder ends, however that happens.
///
/// Locking it twice, by the same holder, throws std::logic_error, also by try_lock. Where an actor
/// that is to be stopped waits for it, it is unwound; in destructors it waits. Where nothing may
/// wait, that is in hooks, in destructors of messages that are dropped, and inside NoPreempt, all
/// but try_lock throw std::logic_error when it is not free. std::lock_guard and its kin do not go
/// with it: lock() returns a guard.
class Mutex {
 public:
  class Guard;

  Mutex() noexcept;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  /// Nobody may hold it, or wait for it: that aborts the process.
  ~Mutex();

  /// Throws LockTimeout when it could not be had in time: within kDefaultLockTimeout, or `timeout`.
  [[nodiscard]] Guard lock();
  [[nodiscard]] Guard lock_for(Timeout timeout);
  /// None when somebody else holds it.
  [[nodiscard]] std::optional<Guard> try_lock();
  /// None when it could not be had in time.
  [[nodiscard]] std::optional<Guard> try_lock_for(Timeout timeout);

 private:
  friend class ConditionVariable;

  [[nodiscard]] std::uint64_t take(Timeout timeout);
  [[nodiscard]] std::uint64_t take_anyhow(Timeout timeout);
  [[nodiscard]] std::uint64_t take_isolated(Timeout timeout);
  [[nodiscard]] std::uint64_t take_slowly(std::uint64_t me, Timeout timeout);
  [[noreturn]] void throw_timeout(std::int64_t waited) const;
  void release(std::uint64_t holder) noexcept;
  void release_isolated(std::uint64_t holder) noexcept;

  alignas(8) std::byte state_[32];
};

/// The right to what a mutex protects. Lets go of the mutex when it ends. Belongs to the actor or
/// thread that locked: it cannot be sent, and must not be moved to another one by other means. The
/// mutex would still count as held by the first.
class [[nodiscard]] Mutex::Guard {
 public:
  Guard(Guard&& other) noexcept : mutex_(other.mutex_), holder_(other.holder_) {
    other.mutex_ = nullptr;
  }
  Guard& operator=(Guard&& other) noexcept {
    if (this != &other) {
      let_go();
      mutex_ = other.mutex_;
      holder_ = other.holder_;
      other.mutex_ = nullptr;
    }
    return *this;
  }
  ~Guard() { let_go(); }

  /// Lets go of the mutex now. Throws std::logic_error when it has been let go already.
  void unlock();
  /// Is the mutex held by this guard?
  [[nodiscard]] explicit operator bool() const noexcept { return mutex_ != nullptr; }

 private:
  friend class Mutex;
  friend class ConditionVariable;

  Guard(Mutex& mutex, std::uint64_t holder) noexcept : mutex_(&mutex), holder_(holder) {}
  void let_go() noexcept {
    if (mutex_ != nullptr) mutex_->release(holder_);
  }

  Mutex* mutex_;
  std::uint64_t holder_;
};

template <>
inline constexpr bool kSendable<Mutex::Guard> = false;

inline Mutex::Guard Mutex::lock() { return lock_for(kDefaultLockTimeout); }

inline Mutex::Guard Mutex::lock_for(Timeout timeout) {
  const std::uint64_t holder = take(timeout);
  if (holder == 0) throw_timeout(timeout.nanoseconds());
  return Guard(*this, holder);
}

inline std::optional<Mutex::Guard> Mutex::try_lock_for(Timeout timeout) {
  const std::uint64_t holder = take(timeout);
  if (holder == 0) return std::nullopt;
  return Guard(*this, holder);
}

inline std::optional<Mutex::Guard> Mutex::try_lock() {
  return try_lock_for(std::chrono::nanoseconds(0));
}

}  // namespace bulkhead
