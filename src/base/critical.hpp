// Critical: a scope in which no actor gives way without having asked for it, and in which none may
// block: the runtime, or its user (NoPreempt), is in the middle of something. See
// core/preempt.cpp for the whole rule.
#pragma once

namespace bulkhead::base {

/// Why the calling thread must not switch stacks now; null when it may. What is scoped by this
/// never switches, so that a scope ends on the thread that it began on.
extern constinit thread_local const char* critical [[gnu::tls_model("initial-exec")]];

/// Sets it, and returns what it was: for who may have come to another thread in the same function,
/// where the address of a thread's variable may have been computed before.
const char* set_critical(const char* why) noexcept;

class Critical {
 public:
  /// `why` says what must not block, for the error of who tries. A literal.
  explicit Critical(const char* why) noexcept : outer_(critical) { critical = why; }
  Critical(const Critical&) = delete;
  Critical& operator=(const Critical&) = delete;
  ~Critical() { critical = outer_; }

 private:
  const char* outer_;
};

}  // namespace bulkhead::base
