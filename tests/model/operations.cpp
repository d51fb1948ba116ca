// The modelled operations: each announces itself, waits to be picked, and happens in one of the
// ways that the memory allows.
#include <bit>

#include "engine.hpp"

namespace bulkhead::model {

// --- parts of every operation ---

void Engine::record(std::string_view what) {
  trace_.add(threads_[current_].name, preempts_, what);
  preempts_ = false;
}

void Engine::show(const Op& op, std::string_view result, std::string_view remark) {
  record(trace_.operation(op, result) + std::string(remark));
}

void Engine::touch(Location& at) {
  const Access access = memory_.touch(current_, at);
  if (access == Access::kFine) [[likely]]
    return;
  const std::string name = trace_.location(at);
  if (access == Access::kDead) fail("use after free", name + " is used after its destruction");
  fail("data race", name + " is used by a thread to which nobody has handed it over");
}

// The announced operation begins.
void Engine::begin(const Op& op) {
  if (++step_ > options_.max_steps) {
    fail("endless", "more than max_steps steps: a loop without spin_hint()?");
  }
  Thread& self = threads_[current_];
  self.hints = 0;
  opened_ = self.gated;
  if (self.gated) open_gate(self);
  if (op.at != nullptr) touch(*op.at);
}

Option Engine::decide(const Op& op) {
  memory_.options(op, current_, since_, freedom(), list_);
  if (list_.overflowed() || list_.size() == 0) {
    fail("model", "more stores to one location than can be told apart");
  }
  const Option option = list_[list_.size() == 1 ? 0 : choose(list_.size())];
  if (option.outcome == Outcome::kSpurious) --spurious_left_;
  if (option.message + 1u < op.at->history.size() && stale_left_ != kUnbounded) --stale_left_;
  return option;
}

void Engine::settle(const Op& op, bool stored) {
  memory_.advance(current_);
  for (unsigned left = asleep_; left != 0; left &= left - 1) {
    const unsigned sleeper = static_cast<unsigned>(std::countr_zero(left));
    if (bears_on(op, stored, threads_[sleeper])) asleep_ &= ~(1u << sleeper);
  }
}

void Engine::note_read(Location& at, std::uint32_t id, std::uint64_t value) {
  for (Seen& seen : threads_[current_].reads) {
    if (seen.at == &at) {
      seen.id = id;
      seen.value = value;
      return;
    }
  }
  threads_[current_].reads.push_back({&at, id, value});
}

// --- life of an atomic ---

Location& Engine::create(const void* owner, const ValueType& type, std::uint64_t value) {
  if (memory_.full()) fail("model", "more atomics than we can follow");
  return memory_.create(current_, owner, type, value, step_);
}

void Engine::destroy(Location& at) {
  const Access access = memory_.destroy(current_, at);
  if (access == Access::kFine) return;
  const std::string name = trace_.location(at);
  if (access == Access::kDead) fail("double free", name + " is destroyed twice");
  fail("data race", name + " is destroyed, and nothing orders this after its last use");
}

// --- loads and stores ---

std::uint64_t Engine::load(Location& at, std::memory_order order) {
  if (direct()) {
    touch(at);
    return at.history.back().value;
  }
  const Op op{.kind = OpKind::kLoad, .order = order, .at = &at, .name = "load"};
  announce(op);
  begin(op);
  const Option option = decide(op);
  const Message& message = at.history[option.message];
  const std::uint64_t value = message.value;
  if (trace_.on()) {
    show(op, "-> " + Trace::value(at, value), Trace::staleness(at, option.message));
  }
  note_read(at, message.id, value);
  memory_.read(current_, at, option.message, order);
  settle(op, false);
  return value;
}

void Engine::store(Location& at, std::uint64_t value, std::memory_order order) {
  if (direct()) {
    touch(at);
    return memory_.overwrite(at, value);
  }
  const Op op{.kind = OpKind::kStore, .order = order, .at = &at, .operand = value, .name = "store"};
  announce(op);
  begin(op);
  const Option option = decide(op);
  if (trace_.on()) {
    show(op, "<- " + Trace::value(at, value),
         option.message + 1u == at.history.size() ? "" : "  (before a store that came earlier)");
  }
  memory_.write(current_, at, option.message, value, order, step_);
  settle(op, true);
}

std::uint64_t Engine::modify(const Op& op) {
  Location& at = *op.at;
  if (direct()) {
    touch(at);
    const std::uint64_t old = at.history.back().value;
    memory_.overwrite(at, op.modify(old, op.operand));
    return old;
  }
  announce(op);
  begin(op);
  const Option option = decide(op);
  const std::uint64_t old = at.history[option.message].value;
  const std::uint64_t value = op.modify(old, op.operand);
  if (trace_.on()) show(op, Trace::value(at, old) + " -> " + Trace::value(at, value));
  memory_.modify(current_, at, option.message, value, op.order, step_);
  note_read(at, at.stored - 1, value);
  settle(op, true);
  return old;
}

bool Engine::compare(std::uint64_t& expected, const Op& op) {
  Location& at = *op.at;
  if (direct()) {
    touch(at);
    const std::uint64_t old = at.history.back().value;
    const bool equal = old == op.expected;
    if (equal) memory_.overwrite(at, op.operand);
    expected = old;
    return equal;
  }
  announce(op);
  begin(op);
  const Option option = decide(op);
  const Message& message = at.history[option.message];
  expected = message.value;
  if (option.outcome == Outcome::kDone) {
    if (trace_.on()) {
      show(op, Trace::value(at, op.expected) + " -> " + Trace::value(at, op.operand));
    }
    memory_.modify(current_, at, option.message, op.operand, op.order, step_);
    note_read(at, at.stored - 1, op.operand);
    settle(op, true);
    return true;
  }
  if (trace_.on()) {
    const char* why = option.outcome == Outcome::kSpurious ? ", fails for no reason" : ", fails";
    show(op, Trace::value(at, expected) + why, Trace::staleness(at, option.message));
  }
  note_read(at, message.id, expected);
  memory_.read(current_, at, option.message, op.failure);
  settle(op, false);
  return false;
}

void Engine::fence(std::memory_order order) {
  if (direct()) return;
  const Op op{.kind = OpKind::kFence, .order = order, .name = "fence"};
  // Only this kind touches more than the thread's own view, so the others happen on the spot.
  if (weak() && order == std::memory_order_seq_cst) {
    announce(op);
    begin(op);
  }
  if (trace_.on()) show(op, "");
  memory_.fence(current_, order);
  if (weak() && order == std::memory_order_seq_cst) {
    settle(op, false);
  } else {
    memory_.advance(current_);
  }
}

// --- sleeping and spinning ---

sync::FutexWait Engine::wait(const Op& op) {
  if (direct()) {
    fail("model", "futex_wait while no other thread runs");
    return sync::FutexWait::kReturned;
  }
  Location& at = *op.at;
  announce(op);
  begin(op);
  const Option option = decide(op);
  const Message& message = at.history[option.message];
  if (trace_.on()) {
    const std::string_view how = option.outcome == Outcome::kSleeps     ? ", sleeps"
                                 : option.outcome == Outcome::kSpurious ? ", returns for no reason"
                                                                        : ", does not sleep";
    show(op, Trace::value(at, message.value) + std::string(how),
         Trace::staleness(at, option.message));
  }
  note_read(at, message.id, message.value);
  memory_.read(current_, at, option.message, std::memory_order_relaxed);
  settle(op, false);
  if (option.outcome != Outcome::kSleeps) return sync::FutexWait::kReturned;
  fall_asleep(op);
  Thread& self = threads_[current_];
  if (self.state == State::kReady) return sync::FutexWait::kReturned;
  // Nobody has woken it: its time is up.
  const Op time_out{.kind = OpKind::kTimeOut, .at = &at, .name = "time-out"};
  begin(time_out);
  if (time_outs_left_ > 0) --time_outs_left_;
  self.state = State::kReady;
  at.sleepers = static_cast<std::uint8_t>(at.sleepers & ~(1u << current_));
  if (trace_.on()) show(time_out, "");
  settle(time_out, false);
  return sync::FutexWait::kTimedOut;
}

// Returns when the thread has been woken, or has been picked to wake by itself.
void Engine::fall_asleep(const Op& op) {
  Thread& self = threads_[current_];
  self.state = State::kAsleep;
  self.pending = {.kind = OpKind::kTimeOut, .may_fail = op.may_fail, .at = op.at};
  op.at->sleepers = static_cast<std::uint8_t>(op.at->sleepers | 1u << current_);
  hand_over(pick());
}

void Engine::wake(Location& at, int count) {
  if (direct()) return touch(at);
  const Op op{.kind = OpKind::kWake, .at = &at, .name = "futex_wake"};
  announce(op);
  begin(op);
  memory_.wake(current_, at);
  unsigned woken = 0;
  std::string names;
  for (int left = count; left > 0 && at.sleepers != 0; --left) {
    const unsigned sleepers = static_cast<unsigned>(std::popcount(at.sleepers));
    unsigned chosen = static_cast<unsigned>(left) >= sleepers ? 0 : choose(sleepers);
    unsigned mask = at.sleepers;
    for (; chosen > 0; --chosen) mask &= mask - 1;
    const unsigned sleeper = static_cast<unsigned>(std::countr_zero(mask));
    at.sleepers = static_cast<std::uint8_t>(at.sleepers & ~(1u << sleeper));
    threads_[sleeper].state = State::kReady;
    woken |= 1u << sleeper;
    if (trace_.on()) names += (names.empty() ? "" : ", ") + std::string(threads_[sleeper].name);
  }
  if (trace_.on()) show(op, names.empty() ? "nobody sleeps" : "wakes " + names);
  settle(op, false);
  for (; woken != 0; woken &= woken - 1) {
    run_ahead(static_cast<unsigned>(std::countr_zero(woken)));
  }
}

void Engine::spin_hint() {
  Thread& self = threads_[current_];
  if (++self.hints > kSilentHints) {
    fail("livelock", std::string(self.name) + " spins for what nobody stores");
  }
  if (direct() || self.reads.empty()) return;
  self.same_loop = true;
  for (const Seen& seen : self.reads) {
    if (!in_gate(self, seen.at)) self.same_loop = false;
  }
  std::swap(self.gate, self.reads);
  self.reads.clear();
  self.gated = true;
  if (trace_.on()) record(kSpins);
}

// A loop that read the same locations in its last two turns would turn in vain if it read the same
// values once more.
void Engine::open_gate(Thread& self) {
  self.gated = false;
  if (!self.same_loop) return;
  for (const Seen& seen : self.gate) {
    if (seen.at->dead) continue;
    const std::size_t other = memory_.other_value(*seen.at, seen.id, seen.value);
    if (other < seen.at->history.size()) memory_.pass_to(current_, *seen.at, other);
  }
}

// --- plain memory ---

void Engine::create(PlainHistory& at) { static_cast<void>(memory_.write_plain(current_, at)); }

void Engine::plain(Access access, const void* owner, std::string_view what) {
  if (access == Access::kFine) [[likely]]
    return;
  const std::string name = trace_.address(to_bits(owner)).substr(1);
  if (access == Access::kDead) {
    fail("use after free", "plain memory " + name + " is " + std::string(what) + " after its end");
  }
  fail("data race", "plain memory " + name + " is " + std::string(what) +
                        ", and nothing orders this with an access of another thread");
}

}  // namespace bulkhead::model
