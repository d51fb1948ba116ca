// Preemption: how an actor is made to give way without having asked for it. What leads here:
//   a tick      every so many allocations (memory/new.cpp)
//   a check     bulkhead::check()
//   a hook      code that is compiled for it counts its basic blocks (__sanitizer_cov_trace_pc)
//   a message   BULKHEAD_PREEMPT: between two messages of one actor
//
// All but the last switch stacks wherever the code of an actor happens to be. That must not happen
// while the runtime, which that code has called, is in the middle of something. Rules
//  P1  An actor gives way only while it is its core's running one and its turn is kRunning. The
//      loop, its hooks and what an ending actor leaves run without a running actor. A wait that has
//      been begun and is not yet parked in is kOpening; an actor on its way into the ready queue is
//      kReady.
//  P2  Not while its exit is carried out (kEnding), and not while an exception is in flight, that
//      is, in destructors that unwinding calls.
//  P3  Not within InTheMiddle, where the runtime calls a hook or destroys a dropped message; nor
//      within base::Critical, where it holds a lock, or takes memory while its data are not in
//      order; nor within BrieflyInside. Its other allocations are at places where the actor might
//      as well block.
//  P4  The library itself is not compiled with hooks. The parts of its headers that are compiled
//      into code with hooks do not rely on anything that a switch changes, but between a wait's
//      begin and park (P1): from prepare to commit a receiver may die, or move, and commit looks
//      anew.
//  P5  After a look the core is another one, perhaps, on another thread: as after any switch (C5).
// P1 to P3 are may_give_way; src/actor/preemption_test.cpp looks at the stack of each tick that may
// switch, and tests/stress/preemption.cpp makes every one switch.
#include <exception>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "base/errno.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "memory/ticks.hpp"

namespace bulkhead::core {

namespace {

constexpr std::uint32_t kMostChecks = 1024;
constexpr machine::Nanoseconds kQuickBatch = 200'000;

// What is left of an actor's reductions. On threads that run no core it never comes to its end.
struct Reductions {
  std::int64_t left = INT64_MAX;
  std::int64_t every = INT64_MAX;
};
constinit thread_local Reductions reductions [[gnu::tls_model("initial-exec")]];

}  // namespace

// --- where -------------------------------------------------------------------------------------

// (Out of line: what belongs to the thread is read by who may have come from another one.)
[[gnu::noinline]] bool Core::may_give_way() const noexcept {
  if (!may_wait() || running->turn != Turn::kRunning || running->has(Slot::kEnding) ||
      base::critical != nullptr || (seat->at.inside() & BrieflyInside::kMark) != 0 ||
      std::uncaught_exceptions() != 0) {
    return false;
  }
  BULKHEAD_ASSERT(!running->wait.armed(), "who has opened a wait does not give way");
  BULKHEAD_ASSERT(running->stack == nullptr && tl_seat.at.mine() == this,
                  "who runs holds no other stack");
  return true;
}

// Is there anybody who would run, or anything that the loop would do? The poller is left out.
bool Core::has_something_to_do(machine::Nanoseconds now) const noexcept {
  return has_work() || timers.has_fresh() || next_due() <= now ||
         domain.load(std::memory_order_relaxed)->bell() != heard_;
}

bool Core::others_wait(machine::Nanoseconds now) const noexcept {
  return has_something_to_do(now) || (poller.watched() != 0 && now - polled_ >= kPollEvery);
}

// --- when --------------------------------------------------------------------------------------

// How long the running actor has had its turn, since the first look in it.
machine::Nanoseconds Core::in_slice(machine::Nanoseconds now) noexcept {
  if (slice_.activation != progress()) {
    slice_.activation = progress();
    slice_.since = slice_.looked = now;
    slice_.checks = 1;
  }
  return now - slice_.since;
}

// So that the loop looks about, and its next choice is a fair one.
void Core::end_turn_early() noexcept {
  given_up_ += activations_left_;
  activations_left_ = 0;
}

// (A look in the middle of something must not bring an actor home either that is away.)
void Core::look(Unwinds unwinds) {
  if (base::critical != nullptr) return;
  const Inside inside;
  Core* core = current();  // not used after yield
  if (core == nullptr || !core->may_give_way()) return;
  if (unwinds == Unwinds::kYes) check_unwind();
  const machine::Nanoseconds now = machine::now();
  if (core->in_slice(now) < core->time_slice_ || !core->others_wait(now)) return;
  core->end_turn_early();
  const int error = base::read_errno();
  yield();
  base::write_errno(error);
  if (unwinds == Unwinds::kYes) check_unwind();
}

// --- checks ------------------------------------------------------------------------------------

// So often that a slice is not much exceeded, and so seldom that a check costs little.
void Core::pace_checks(machine::Nanoseconds elapsed) noexcept {
  if (elapsed < time_slice_ / 16) {
    if (slice_.checks < kMostChecks) slice_.checks *= 2;
  } else if (elapsed > time_slice_ / 4 && slice_.checks > 1) {
    slice_.checks /= 2;
  }
  slice_.checks_left = slice_.checks;
}

void Core::check() {
  const std::uint8_t was = was_inside();
  Core* core = enter();  // not used after look
  if (core == nullptr) return;
  Slice& slice = core->slice_;
  if (slice.activation == core->progress() && --slice.checks_left != 0) [[likely]] {
    core->leave(was);
    return;
  }
  slice.checks_left = 1;
  if (core->may_give_way()) {
    const machine::Nanoseconds now = machine::now();
    static_cast<void>(core->in_slice(now));
    core->pace_checks(now - slice.looked);
    slice.looked = now;
  }
  core->leave(was);
  look(Unwinds::kYes);
}

// --- ticks and hooks ---------------------------------------------------------------------------

void Core::allocation_is_due(bool may_throw) {
  memory::ticks.left = memory::ticks.every;
  look(may_throw ? Unwinds::kYes : Unwinds::kNo);
}

void Core::reductions_are_due() {
  reductions.left = reductions.every;
  look(Unwinds::kNo);
}

// As the configuration has it. The owner, or before its first thread runs it.
void Core::set_up_preemption() noexcept {
  const Config& config = domain.load(std::memory_order_relaxed)->config();
  slice_ = {};
  time_slice_ = config.time_slice.count();
  message_slice_ = config.message_slice.value_or(std::chrono::nanoseconds(0)).count();
  if (in_rounds_) message_slice_ = machine::kNever;  // of no effect
  batch_ = message_slice_ != 0 ? 1 : kLeastBatch;
  in_row_ = nullptr;
  const auto every = [](std::size_t count) {
    return count != 0 ? static_cast<std::int64_t>(count) : INT64_MAX;
  };
  allocations_ = every(config.preempt_allocations);
  reductions_ = every(config.preempt_reductions);
}

// Of the calling thread, while it runs this core; a tick or a hook that is due then finds the core
// there, or an actor that the core has left behind.
void Core::start_preemption() const noexcept {
  memory::ticks = {allocations_, allocations_, &Core::allocation_is_due};
  reductions = {reductions_, reductions_};
}

void Core::stop_preemption() noexcept {
  memory::ticks = {};
  reductions = {};
}

// --- between messages --------------------------------------------------------------------------

// The batch is used up. Long queues are worked off in longer batches, while handlers are quick.
void Core::requeue(Slot& slot) {
  if (message_slice_ != 0) [[unlikely]] {
    requeue_by_time(slot);
    return;
  }
  const bool quick = machine::now() - now_ < kQuickBatch;
  batch_used_up_ = true;
  batch_ = quick ? std::min(batch_ * 2, kMostBatch) : kLeastBatch;
  if (quick && moves_to_sender(slot)) return;
  slot.turn = Turn::kReady;
  queue_fair(slot);
}

// An actor that has more to do, when time decides how long a batch is. Batches are of one message
// then, so that nothing is looked at between messages when it does not; the actor goes on as the
// next one, until its time is up.
void Core::requeue_by_time(Slot& slot) {
  if (in_rounds_) {
    slot.turn = Turn::kReady;
    queue_fair(slot);
    return;
  }
  const machine::Nanoseconds now = machine::now();
  if (in_row_ != &slot) {
    in_row_ = &slot;
    in_row_since_ = now;
  }
  if (now - in_row_since_ < message_slice_) {
    slot.turn = Turn::kReady;
    goes_on_ = &slot == roamer_;
    queue_hot(slot);
    return;
  }
  in_row_ = nullptr;
  end_turn_early();
  if (slow_turns_ == 0 && moves_to_sender(slot)) return;
  slot.turn = Turn::kReady;
  queue_fair(slot);
}

// Out of line, and entered only when the count is used up.
[[gnu::noinline, gnu::cold]] void reductions_used_up() { Core::reductions_are_due(); }

}  // namespace bulkhead::core

// What code that is compiled with -fsanitize-coverage=trace-pc calls in each of its basic blocks.
// It is taken to throw nothing, so it does not unwind. Weak: who brings another one keeps it.
extern "C" [[gnu::weak]] void __sanitizer_cov_trace_pc() {
  if (--bulkhead::core::reductions.left == 0) [[unlikely]]
    bulkhead::core::reductions_used_up();
}
