// An operation: one actor at work on one descriptor in one direction, from before its first system
// call until after its last, with the waits in between.
#pragma once

#include <cerrno>
#include <cstdint>

#include "bulkhead/duration.hpp"
#include "bulkhead/net/descriptor.hpp"
#include "machine/clock.hpp"
#include "net/table.hpp"

namespace bulkhead::net {

class Operation {
 public:
  /// Throws std::logic_error, which names `function`, outside an actor.
  Operation(const Descriptor& descriptor, Direction direction, const char* function);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  /// 0, or what stands against it: EBADF, EBUSY.
  [[nodiscard]] int refused() const noexcept { return refused_; }

  /// Calls call(), which returns a negated errno when it fails, until it returns anything but
  /// -EAGAIN; waits before when it is not ready, and in between, for at most `timeout` altogether
  /// over all calls of perform. Returns what the call returned, or why the wait ended: -ETIMEDOUT,
  /// -EBADF (closed), -ECANCELED (the actor is ending), -ENOMEM, and what epoll_ctl says.
  template <class Call>
  [[nodiscard]] long perform(Timeout timeout, Call call) {
    if (refused_ != 0) return -refused_;
    if (ready_ == 0 && timeout.nanoseconds() != 0) {
      if (const int error = wait(timeout); error != 0) return -error;
    }
    for (;;) {
      const long result = call();
      if (result != -EAGAIN) {
        ready_ |= direction_ == Direction::kRead ? Bits::kIn : Bits::kOut;
        return result;
      }
      if (const int error = wait(timeout); error != 0) return -error;
    }
  }

  /// The last call has left nothing behind, so the next operation will have to wait; unless the end
  /// of the stream has been reported (readiness.hpp, R3). Else it would try first.
  void ran_dry() noexcept {
    if ((ready_ & Bits::kEnd) == 0) ready_ = 0;
  }

  [[nodiscard]] int fd() const noexcept { return entry_->fd; }

 private:
  using Bits = Readiness<sync::RealSync, Actors>;

  [[nodiscard]] int wait(Timeout timeout);
  [[nodiscard]] int park(machine::Nanoseconds timeout);
  [[nodiscard]] int take(Look look) noexcept;

  Entry* entry_ = nullptr;
  std::uint64_t generation_;
  std::uint64_t ready_ =
      0;  // taken and not spent, or known from the last call; put back at the end
  machine::Nanoseconds deadline_ = 0;
  int refused_ = EBADF;
  Direction direction_;
};

/// Throws std::logic_error unless the caller is an actor.
void require_actor(const char* function);

}  // namespace bulkhead::net
