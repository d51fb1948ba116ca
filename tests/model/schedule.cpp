// Who goes next. The rules S1 to S4 are in engine.hpp.
#include <bit>

#include "engine.hpp"

namespace bulkhead::model {

namespace {

[[nodiscard]] constexpr unsigned bit(unsigned thread) noexcept { return 1u << thread; }

[[nodiscard]] bool is_consistent(const Op& op) noexcept {
  return op.order == std::memory_order_seq_cst || op.failure == std::memory_order_seq_cst;
}

[[nodiscard]] bool may_store(const Op& op) noexcept {
  return op.kind == OpKind::kStore || op.kind == OpKind::kModify || op.kind == OpKind::kCompare;
}

[[nodiscard]] bool uses_sleepers(const Op& op) noexcept {
  return op.kind == OpKind::kWait || op.kind == OpKind::kWake || op.kind == OpKind::kTimeOut;
}

}  // namespace

// --- changing over ---

// Returns when the thread that calls has been picked.
void Engine::announce(const Op& op) {
  Thread& self = threads_[current_];
  self.pending = op;
  if (ahead_of_ != nullptr) {
    Fiber::change(*self.fiber, *std::exchange(ahead_of_, nullptr));
  } else {
    hand_over(pick());
  }
}

void Engine::hand_over(unsigned next) {
  if (next == current_) return;
  Fiber& from = *threads_[current_].fiber;
  current_ = next;
  Fiber::change(from, next == kNobody ? host_ : *threads_[next].fiber);
}

// Lets a thread that has just been woken run to its next operation, so that we know what it is.
void Engine::run_ahead(unsigned next) {
  const unsigned self = current_;
  ahead_of_ = threads_[self].fiber.get();
  current_ = next;
  Fiber::change(*threads_[self].fiber, *threads_[next].fiber);
  current_ = self;
}

// --- who can go ---

bool Engine::gate_open(const Thread& thread) const {
  for (const Seen& seen : thread.gate) {
    if (out_of_date(seen)) return true;
  }
  return false;
}

bool Engine::out_of_date(const Seen& seen) const {
  return seen.at->dead ||
         memory_.other_value(*seen.at, seen.id, seen.value) < seen.at->history.size();
}

bool Engine::in_gate(const Thread& thread, const Location* at) {
  for (const Seen& seen : thread.gate) {
    if (seen.at == at) return true;
  }
  return false;
}

unsigned Engine::ready_threads() const {
  unsigned ready = 0;
  for (unsigned t = 1; t < thread_count_; ++t) {
    const Thread& thread = threads_[t];
    const bool can_go =
        thread.state == State::kReady
            ? !thread.gated || gate_open(thread)
            : thread.state == State::kAsleep && thread.pending.may_fail && time_outs_left_ > 0;
    if (can_go) ready |= bit(t);
  }
  return ready;
}

// When nobody can go, time passes: sleeps with a limit end, and loops spin for nothing.
unsigned Engine::idle_threads() {
  unsigned idle = 0;
  for (unsigned t = 1; t < thread_count_; ++t) {
    const Thread& thread = threads_[t];
    const bool waits = thread.state == State::kReady ||
                       (thread.state == State::kAsleep && thread.pending.may_fail);
    if (waits && thread.idle_turns < kIdleTurns) idle |= bit(t);
  }
  return idle;
}

void Engine::fail_stuck() {
  std::string text = "no thread can go on:";
  const char* kind = "livelock";
  for (unsigned t = 1; t < thread_count_; ++t) {
    const Thread& thread = threads_[t];
    if (thread.state == State::kDone) continue;
    text += std::string(text.back() == ':' ? " " : ", ") + std::string(thread.name);
    if (thread.state == State::kAsleep && !thread.pending.may_fail) {
      kind = "deadlock, lost wake-up";
      text += " sleeps on " + trace_.location(*thread.pending.at);
    } else {
      text += thread.state == State::kAsleep ? " comes back to sleep again and again"
                                             : " spins for what nobody stores";
    }
  }
  fail(kind, text);
}

// --- who need not go ---

bool Engine::awake(unsigned index) {
  if ((asleep_ & bit(index)) == 0) return true;
  const Thread& thread = threads_[index];
  const Op& op = thread.pending;
  if (!weak() || thread.gated || op.kind == OpKind::kFence || op.kind == OpKind::kWake ||
      op.kind == OpKind::kTimeOut) {
    return false;
  }
  memory_.options(op, index, thread.asleep_since, freedom(), list_);
  return list_.size() > 0 || list_.overflowed();
}

void Engine::put_to_sleep(unsigned index) {
  asleep_ |= bit(index);
  threads_[index].asleep_since = step_;
}

// Could the sleeper's operation go otherwise now that `done` has been done by the current thread,
// or could `done` have gone otherwise after it? With weak memory, S3 is left to awake().
bool Engine::bears_on(const Op& done, bool stored, const Thread& sleeper) const {
  const Op& op = sleeper.pending;
  if (sleeper.gated && stored && (in_gate(sleeper, done.at) || op.at == done.at)) return true;
  if (opened_ && may_store(op) && in_gate(threads_[current_], op.at)) return true;
  if (op.kind == OpKind::kTimeOut && done.kind == OpKind::kTimeOut) return true;  // one budget
  const bool same = op.at == done.at;
  if (same && uses_sleepers(op) && uses_sleepers(done) &&
      (op.kind != OpKind::kWait || done.kind != OpKind::kWait)) {
    return true;
  }
  if (weak()) {
    if (is_consistent(op) && is_consistent(done) &&
        (same || op.kind == OpKind::kFence || done.kind == OpKind::kFence)) {
      return true;
    }
    // To load first and store then is to load a stale value later, unless that is rationed.
    return options_.stale_bound != kUnbounded && same && !stored && may_store(op);
  }
  return same && done.kind <= OpKind::kWait && op.kind <= OpKind::kWait &&
         (stored || may_store(op));
}

// --- the pick ---

unsigned Engine::choose(unsigned alternatives) {
  return redundant_ ? 0 : search_.choose(alternatives);
}

unsigned Engine::pick() {
  unsigned ready = ready_threads();
  if (ready == 0) {
    ready = idle_threads();
    if (ready == 0) {
      for (unsigned t = 1; t < thread_count_; ++t) {
        if (threads_[t].state != State::kDone) {
          fail_stuck();
          break;
        }
      }
      return kNobody;
    }
    asleep_ &= ~ready;
    const unsigned next = pick_among(ready, Switch::kIdle);
    ++threads_[next].idle_turns;
    return next;
  }
  const bool stays = current_ != kNobody && (ready & bit(current_)) != 0 &&
                     threads_[current_].state == State::kReady && !threads_[current_].gated;
  return pick_among(ready, stays ? Switch::kPreempts : Switch::kFree);
}

unsigned Engine::pick_among(unsigned ready, Switch how) {
  const bool stays = how == Switch::kPreempts;
  std::array<unsigned, kMaxThreads> order;
  unsigned count = 0;
  const bool current_ready = current_ != kNobody && (ready & bit(current_)) != 0;
  if (!redundant_) {
    if (current_ready && awake(current_)) order[count++] = current_;
    if (!stays || preemptions_ < options_.preemption_bound) {
      for (unsigned t = 1; t < thread_count_; ++t) {
        if (t != current_ && (ready & bit(t)) != 0 && awake(t)) order[count++] = t;
      }
    }
  }
  if (count == 0) {  // S4
    redundant_ = true;
    asleep_ = 0;
    order[count++] = current_ready ? current_ : static_cast<unsigned>(std::countr_zero(ready));
  }
  const unsigned taken = count == 1 ? 0 : choose(count);
  const unsigned next = order[taken];
  if (taken > 0 && options_.reduce && how != Switch::kIdle) {
    if (options_.preemption_bound == kUnbounded) {
      for (unsigned earlier = 0; earlier < taken; ++earlier) put_to_sleep(order[earlier]);
    } else if (stays && order[0] == current_) {
      put_to_sleep(current_);
    }
  }
  since_ = (asleep_ & bit(next)) != 0 ? threads_[next].asleep_since : 0;
  asleep_ &= ~bit(next);
  preempts_ = stays && next != current_;
  if (preempts_) ++preemptions_;
  return next;
}

}  // namespace bulkhead::model
