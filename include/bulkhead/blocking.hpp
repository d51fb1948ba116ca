/// blocking: work that blocks its thread, done where it holds no core up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/arguments.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/over_wall.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/wait_group.hpp"

namespace bulkhead {

/// The threads that blocking() uses, which all runtimes of the process share.
struct BlockingLimits {
  /// At most so many, 1 to 4096. They are started when there is work and none is free. When all are
  /// at work, more work waits.
  std::size_t threads = 64;
  /// A thread with nothing to do ends after this time; at the latest when the last runtime has shut
  /// down.
  Timeout idle_time = std::chrono::seconds(5);
};

/// Sets them, from now on. Any thread. Throws ConfigError for a number of threads that is not 1 to
/// 4096, and then changes nothing.
void set_blocking_limits(const BlockingLimits& limits);
[[nodiscard]] BlockingLimits blocking_limits();

namespace core {

/// A piece of work, shared by who waits for it and the thread that does it: who lets go last
/// destroys it.
class BlockingJob {
 public:
  BlockingJob() = default;
  BlockingJob(const BlockingJob&) = delete;
  BlockingJob& operator=(const BlockingJob&) = delete;
  virtual ~BlockingJob() = default;

  virtual void run() = 0;

  std::exception_ptr failure;
  WaitGroup finished{1};

  // The pool's, under its lock.
  BlockingJob* next = nullptr;
  std::uint8_t owners = 1;
  bool queued = false;
};

/// False outside actors, and in hooks, where the function is just called. Throws std::logic_error
/// inside NoPreempt.
[[nodiscard]] bool waits_when_blocking();
/// In an actor: has the job run, and waits for it. Throws std::runtime_error when no thread can be
/// had.
void run_blocking(BlockingJob& job);
/// Who waited for it lets go of it. If it has not been begun, it never is.
void let_go(BlockingJob& job) noexcept;

/// A function, which ends on the thread that has called it, before its caller goes on: so what it
/// holds is let go of by then.
template <class F>
class BlockingFunction {
 public:
  explicit BlockingFunction(F&& function) : function_(std::in_place, std::move(function)) {}
  explicit BlockingFunction(const F& function) : function_(std::in_place, function) {}

  decltype(auto) operator()() {
    struct End {
      std::optional<F>& function;
      ~End() { function.reset(); }
    } end{function_};
    return (*function_)();  // NOLINT(bugprone-unchecked-optional-access): it is called once
  }

 private:
  std::optional<F> function_;
};

template <class F, class Result>
class BlockingCall final : public BlockingJob {
 public:
  template <class G>
  BlockingCall(std::in_place_t /*here*/, G&& function) : function_(std::forward<G>(function)) {}
  ~BlockingCall() override {
    if (made_) result_.~Result();
  }
  void run() override {
    new (&result_) Result(function_());
    made_ = true;
  }
  [[nodiscard]] Result&& take() noexcept { return std::move(result_); }

 private:
  BlockingFunction<F> function_;
  union {
    Result result_;
  };
  bool made_ = false;
};

template <class F>
class BlockingCall<F, void> final : public BlockingJob {
 public:
  template <class G>
  BlockingCall(std::in_place_t /*here*/, G&& function) : function_(std::forward<G>(function)) {}
  void run() override { function_(); }
  void take() const noexcept {}

 private:
  BlockingFunction<F> function_;
};

/// The share of who waits. If that is an isolated actor which traps, it lets go as well.
class BlockingShare {
 public:
  /// Throws std::bad_alloc, and has let go.
  explicit BlockingShare(BlockingJob& job);
  BlockingShare(const BlockingShare&) = delete;
  BlockingShare& operator=(const BlockingShare&) = delete;
  ~BlockingShare();

 private:
  BlockingJob& job_;
};

/// Throws std::logic_error: an isolated actor has to do with what has no other memory than its own.
[[noreturn]] void refuse_to_block_over_wall(std::string_view function);

/// The work that is done by a thread of the pool lies in the process's memory.
template <class Call, class F>
[[nodiscard]] Call* make_blocking_call(F&& function) {
  using Function = std::decay_t<F>;
  if (!in_compartment()) [[likely]]
    return new Call(std::in_place, std::forward<F>(function));
  if constexpr (kCrossesAsArgument<Function>) {
    const OverWall out(OverWall::Way::kOut, nullptr);
    auto* call = new Call(std::in_place, argument_anew<Function>(function));
    leave_argument<F>(function);
    return call;
  } else {
    refuse_to_block_over_wall(type_name<Function>());
  }
}

template <class Call, class R>
[[nodiscard]] R take_result(Call& call) {
  if constexpr (!std::is_void_v<R>) {
    if constexpr (!kStaysAsItIs<R>) {
      if (in_compartment()) [[unlikely]] {
        const OverWall in(OverWall::Way::kIn, nullptr);
        auto&& result = call.take();
        return over_wall(result);
      }
    }
    return call.take();
  }
}

}  // namespace core

/// In an actor: runs `function()` on a thread of a pool, and returns what it returns, or throws
/// what it throws. Meanwhile the actor waits, and its core runs others. Outside actors, and in
/// hooks, it is just called. Throws std::logic_error inside NoPreempt, std::bad_alloc,
/// std::runtime_error when no thread can be had; then the function is not called.
///
/// An actor that is stopped meanwhile is unwound at once, and does not wait for the function. So
/// the function must not refer to the actor's frame or state: give it what it needs by value. What
/// it returns after that is destroyed on its thread.
///
/// What an isolated actor gives it, and what it returns, crosses the wall: the function is no more
/// than its bytes, or a struct with an operator() whose members cross. Else throws
/// std::logic_error.
template <class F>
  requires std::invocable < std::decay_t<F>
& > auto blocking(F&& function) {
  using Function = std::decay_t<F>;
  using Result = std::invoke_result_t<Function&>;
  static_assert(!std::is_reference_v<Result>,
                "bulkhead: what blocking() runs returns a value, or nothing; not a reference");
  if (!core::waits_when_blocking()) return static_cast<Result>(function());
  using Call = core::BlockingCall<Function, std::remove_cvref_t<Result>>;
  auto* job = core::make_blocking_call<Call>(std::forward<F>(function));
  const core::BlockingShare share(*job);
  core::run_blocking(*job);
  if (job->failure) std::rethrow_exception(std::exchange(job->failure, nullptr));
  return core::take_result<Call, Result>(*job);
}

}  // namespace bulkhead
