// The loop of a core: one turn after another, and sleep when there is nothing to do.
#include "core/core.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "core/bond.hpp"
#include "core/commons.hpp"
#include "core/compartment.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "core/drive.hpp"
#include "core/inside.hpp"
#include "core/requests.hpp"
#include "core/send_timers.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

constexpr machine::Nanoseconds kLeastSpin = 2'000;
constexpr machine::Nanoseconds kMostSpin = 50'000;
constexpr std::uint32_t kHomeBatch = 64;
constexpr std::size_t kChunksKept = 16;
// 256 KiB of signals: they stay in the second-level cache.
constexpr std::uint32_t kFloodChunks = 4;
constexpr std::uint32_t kFloodChunksElsewhere = 32;
constexpr machine::Nanoseconds kSlowMessage = 1'000;
constexpr machine::Nanoseconds kFloodWait = 200'000;
constexpr int kFloodRounds = 256;
constexpr std::uint32_t kStacksKept = 64;

}  // namespace

constinit thread_local ThreadSeat tl_seat [[gnu::tls_model("initial-exec")]];

// Out of line and opaque: a frame that is resumed on another thread must not go on with the first
// thread's address of the variable.
[[gnu::noinline]] Core* Core::current() noexcept {
  asm volatile("" ::: "memory");
  Core* core = tl_seat.at.mine();
  asm volatile("" : "+r"(core));
  return core;
}

[[gnu::noinline]] Core* come_inside() noexcept {
  asm volatile("" ::: "memory");
  Core* core = enter();
  asm volatile("" : "+r"(core));
  return core;
}

[[gnu::noinline]] void go_back(std::uint8_t was) noexcept {
  asm volatile("" ::: "memory");
  tl_seat.at.leave(was);
}

void Core::become_current() noexcept {
  seat = &tl_seat;
  tl_seat.at.sit(this);
}
void Core::resign() noexcept { tl_seat.at.rise(); }

void Core::forget_in_fork() noexcept {
  resign();
  tl_seat.worker = nullptr;
  stop_preemption();
}

void Core::prepare_to_run() {
  if (outgoing_ == nullptr) {
    outgoing_ = static_cast<memory::Outgoing*>(std::calloc(kMaxCores, sizeof(memory::Outgoing)));
    if (outgoing_ == nullptr) throw std::bad_alloc();
  }
  const Domain& mine = *domain.load(std::memory_order_relaxed);
  const int cpu = mine.cpu_for(*this);
  const machine::NodePolicy& nodes = machine::NodePolicy::machine();
  pool.place_on(cpu < 0 ? machine::kAnyNode : nodes.node_of_cpu(cpu), nodes);
  now_ = machine::now();
  activations_left_ = 0;  // it begins by looking about
  passes_on_ = false;     // that was for the commons of another runtime
  timers.restart(now_);
  in_rounds_ = mine.config().run_queue == RunQueue::kRounds;
  round_left_ = 0;
  set_up_preemption();
  entry_ = &Core::loop_entry;
  if (in_rounds_) entry_ = &Core::rounds_entry;
  if (commons != nullptr) entry_ = &Core::roam_entry;
  if (stack == nullptr) stack = take_stack(mine.stack_class);
}

void Core::run(Worker& me, Drive* drive) {
  if (drive != nullptr) {
    drive_ = drive;
    machine::forget(stack);  // what lies there of the last time
    looked_at_ = 0;
  }
  become_current();
  exceptions = machine::thread_exceptions();
  start_preemption();
  stack->seat = seat;
  me.own.core = this;
  machine::leave_thread(&me.own, stack, entry_, stack);
  stop_preemption();
  resign();
  if (drive != nullptr) drive_ = nullptr;  // else the core may be another thread's by now
}

inline void Core::begin_on(machine::Stack* me) {
  machine::entered(me);
  if (Slot* slot = me->core->first_; slot != nullptr) {
    me->core->first_ = nullptr;
    if (slot->isolated()) [[unlikely]] {
      deliver_isolated(*slot, me);
    } else {
      deliver_batch(*slot, me);
    }
  }
}

void Core::loop_entry(void* stack) {
  auto* me = static_cast<machine::Stack*>(stack);
  begin_on(me);
  loop(me);
}

void Core::roam_entry(void* stack) {
  auto* me = static_cast<machine::Stack*>(stack);
  begin_on(me);
  roam(me);
}

void Core::rounds_entry(void* stack) {
  auto* me = static_cast<machine::Stack*>(stack);
  begin_on(me);
  rounds(me);
}

void Core::loop(machine::Stack* me) {
  for (;;) {
    Core* core = me->core;
    Slot* slot = nullptr;
    if (core->activations_left_ == 0) [[unlikely]] {
      core->turn_over();
      slot = core->ready.next_fairly();
    } else {
      slot = core->ready.next();
    }
    if (slot != nullptr) [[likely]] {
      core->activations_left_ = core->activations_left_ - 1;
      activate(*slot, me);
      continue;
    }
    core->turn_over();
    if (!core->ready.empty()) continue;
    if (core->domain.load(std::memory_order_relaxed)->may_leave(*core)) leave_loop(me);
    core->idle();
  }
}

void Core::leave_loop(machine::Stack* me) {
  Core* core = me->core;
  core->flush_all_outgoing();
  if (core->drive_ == nullptr) {  // else it goes on there, the next time
    core->stacks.give(me);
    core->stack = nullptr;
  }
  machine::resume(me, &core->worker->own, core->exceptions);
}

void Core::turn_over() {
  if (passes_on_) [[unlikely]]
    pass_on();  // hooks that are called below may take long
  if (batch_ > kLeastBatch && !batch_used_up_) batch_ /= 2;
  batch_used_up_ = false;
  const machine::Nanoseconds before = now_;
  now_ = machine::now();
  note_cost(now_ - before);
  activations_left_ = kActivationsPerTurn;
  turns_ = turns_ + 1;
  heard_ = domain.load(std::memory_order_relaxed)->bell();
  if (!arrivals.empty()) take_arrivals();
  timers.advance(now_, [this](Timer& timer) { fire(timer); });
  if (commons != nullptr && commons->advance(*this)) [[unlikely]]
    passes_on_ = true;
  if (poller.watched() != 0 && now_ - polled_ >= kPollEvery) poll(0);
  const auto waiting = static_cast<std::uint32_t>(ready.size());
  if (load.load(std::memory_order_relaxed) != waiting) {
    load.store(waiting, std::memory_order_relaxed);
  }
  if (waiting < 2) {
    busy_since_ = now_;
  } else {
    share_work();
  }
  Domain& mine = *domain.load(std::memory_order_relaxed);
  if (mine.ending() && !unwound_) end_all_actors();
  if (reclaimed_ != mine.reclaim()) give_surplus_slots();
  if (trace_epoch_ != mine.trace.epoch()) [[unlikely]]
    mine.trace.follow(*this);
}

// What a message costs here: whether it is worth a way to another core. Several turns in a row must
// say so, since a single one may have been stretched by other processes.
void Core::note_cost(machine::Nanoseconds elapsed) noexcept {
  const std::uint64_t handled = counts.handled.read();
  const std::uint64_t work = std::max<std::uint64_t>(
      handled - handled_before_, kActivationsPerTurn - activations_left_ - given_up_);
  given_up_ = 0;
  handled_before_ = handled;
  if (work == 0) return;
  const bool slow = elapsed / static_cast<machine::Nanoseconds>(work) >= kSlowMessage;
  slow_turns_ = slow ? slow_turns_ + 1 : 0;
}

// Has the running actor filled this core's pool with signals that others have to handle first?
bool Core::filled_the_pool(std::uint8_t size_class) noexcept {
  return may_wait() && running->turn == Turn::kRunning && !running->has(Slot::kEnding) &&
         base::critical == nullptr && pool.chunks(size_class) >= kFloodChunks &&
         !pool.has_free(size_class);
}

// A sender that floods lets its receivers run, so that their memory is used again while it is in
// the cache and does not grow with the length of the flood. It goes on when some is free; or after
// many rounds in which none became free, since the receivers may themselves be waiting.
Core* Core::give_way(std::uint8_t size_class) noexcept {
  Core* core = current();
  machine::Nanoseconds waiting_since = 0;
  for (int round = 0; round < kFloodRounds && core->filled_the_pool(size_class); ++round) {
    if (!core->arrivals.empty()) core->end_turn_early();  // its receivers may be among them
    if (core->has_work()) {
      core = yield();
      continue;
    }
    // They are on other cores: wait a little for what comes back.
    if (core->pool.chunks(size_class) < kFloodChunksElsewhere) break;
    const machine::Nanoseconds time = machine::now();
    if (waiting_since == 0) waiting_since = time;
    if (time - waiting_since > kFloodWait) break;
    for (int i = 0; i < 256 && !core->pool.has_free(size_class); ++i) RealSync::spin_hint();
  }
  return core;
}

bool Core::poll(machine::Nanoseconds timeout) {
  const int told = poller.wait(timeout);
  polled_ = timeout == 0 ? now_ : machine::now();
  return told > 0;
}

void Core::fire(Timer& timer) {
  switch (timer.kind) {
    case TimerKind::kWait: {
      auto& wait = static_cast<WaitTimer&>(timer);
      if (!wait.slot->wait.claim(wait.epoch)) break;
      if (trace != nullptr) trace->wakes(nullptr, *wait.slot, true);
      resume_later(*wait.slot);
      break;
    }
    case TimerKind::kReceiveTimeout: {
      Slot& slot = slot_of(timer);
      if (slot.has(Slot::kTimeoutArmed)) time_is_up(slot);  // no message of the same tick was first
      break;
    }
    case TimerKind::kSend:
      retire_send_timer(static_cast<SendTimer&>(timer));
      deliver_send_timer(*this, static_cast<SendTimer&>(timer));
      break;
    case TimerKind::kTick: {
      auto& ticking = static_cast<SendTimer&>(timer);
      if (ticking.tick->loan.lend()) deliver_tick(ticking);
      timers.start_at(ticking, due_again(ticking, now_));
      break;
    }
    case TimerKind::kRequest:
      if (is_time_up(static_cast<SendTimer&>(timer)))
        answer_too_late(static_cast<SendTimer&>(timer));
      break;
    case TimerKind::kWatch:
      break;
  }
}

void Core::time_is_up(Slot& slot) noexcept {
  slot.clear(Slot::kTimeoutArmed);
  slot.set(Slot::kTimeoutDue);
  if (slot.turn != Turn::kIdle) return;
  slot.turn = Turn::kReady;
  queue_fair(slot);
}

void Core::resume_later(Slot& slot) {
  if (&slot == running) {
    slot.set(Slot::kResumed);  // its own doing, between begin_wait and park
    return;
  }
  BULKHEAD_ASSERT(slot.turn == Turn::kParked || slot.has(Slot::kReceiving),
                  "only an actor that waits is resumed");
  if (slot.has(Slot::kReceiving | Slot::kRoams)) [[unlikely]] {
    resume_slowly(slot);
    return;
  }
  if (slot.wait_timer != nullptr && slot.wait_timer->linked()) timers.cancel(*slot.wait_timer);
  slot.wait_timer = nullptr;
  slot.turn = Turn::kReady;
  if (running != nullptr) {
    ready.push_hot(&slot);
  } else {
    ready.push_fair(&slot);
  }
}

[[gnu::noinline]] void Core::resume_slowly(Slot& slot) {
  slot.clear(Slot::kReceiving);
  if (slot.wait_timer != nullptr) cancel_timer(slot, *slot.wait_timer);
  slot.wait_timer = nullptr;
  slot.turn = Turn::kReady;
  if (running != nullptr) {
    queue_hot(slot);
  } else {
    queue_fair(slot);
  }
}

// --- idleness ------------------------------------------------------------------------------------

// Is there anything to run, here or for anybody?
bool Core::has_work() const noexcept {
  return !ready.empty() || !arrivals.empty() || (commons != nullptr && commons->has_work());
}

// (Another core may sleep for those of the commons.) Not while there are fresh ones of its own.
machine::Nanoseconds Core::next_due() const noexcept {
  const machine::Nanoseconds due = timers.next_due();
  return commons == nullptr ? due : std::min(due, commons->next_due());
}

void Core::idle() {
  flush_all_outgoing();
  if (timers.has_fresh()) return;  // file them first
  // Who makes descriptors ready needs the CPU that a spin would burn.
  if (poller.watched() != 0) {
    poll(0);
  } else {
    spin();
  }
  if (has_work()) return;
  ask_for_work();
  after_burst();
  sleep();
}

// Waits a little for work before sleeping: waking a sleeper costs its waker more than this. The
// time adapts to whether it was worth it.
void Core::spin() {
  Domain& mine = *domain.load(std::memory_order_relaxed);
  if (mine.single()) return;  // nobody but outside threads could bring anything
  const machine::Nanoseconds start = machine::now();
  const machine::Nanoseconds due = next_due();
  machine::Nanoseconds time = start;
  while (time - start < spin_limit_) {
    for (int i = 0; i < 32; ++i) {
      if (has_work()) {
        spin_limit_ = std::min(spin_limit_ * 2, kMostSpin);
        return;
      }
      RealSync::spin_hint();
    }
    time = machine::now();
    if (due <= time) return;
  }
  spin_limit_ = std::max(spin_limit_ / 2, kLeastSpin);
}

void Core::sleep() {
  Domain& mine = *domain.load(std::memory_order_relaxed);
  machine::Nanoseconds due = timers.next_due();
  if (drive_ != nullptr) due = std::min(due, drive_->deadline);
  if (!arrivals.fall_asleep()) return;
  // The poll above may have swallowed the wake-up that goes with the bell.
  if (mine.bell() == heard_ && (commons == nullptr || commons->fall_asleep(*this, due))) {
    machine::Nanoseconds timeout = machine::kNever;
    if (due != machine::kNever) {
      now_ = machine::now();
      timeout = due > now_ ? due - now_ : 0;
    }
    mine.core_sleeps(*this);
    if (timeout != 0) counts.slept.raise();
    poll(timeout);
    mine.core_wakes(*this);
  }
  if (commons != nullptr) passes_on_ |= commons->wake_up(*this);
  arrivals.wake_up();
  now_ = machine::now();  // sleep is no work
}

// Memory that only a burst needed goes back, before a sleep; but a stage keeps what it was given.
void Core::after_burst() noexcept {
  pool.collect_returned();
  if (drive_ == nullptr) {
    if (pool.chunks_since_trim() > kChunksKept) pool.trim(kChunksKept);
    stacks.trim(kStacksKept);
    ready.shrink();
  }
  pool_chunks.store(pool.chunks(), std::memory_order_relaxed);
}

// --- memory of signals ---------------------------------------------------------------------------

void Core::release_block(void* block, std::uint16_t owner, std::uint8_t size_class) noexcept {
  if (owner == index) [[likely]] {
    pool.give(block, size_class);
    return;
  }
  if (owner == kHeapPool) {
    memory::give_to_heap(block);
    return;
  }
  if (owner == kBondPool) {
    give_bond(static_cast<Signal*>(block));
    return;
  }
  if (owner == kMessageHeap) {
    give_message_heap(block);
    return;
  }
  if (owner == kTickPool) {
    give_tick(static_cast<Signal*>(block), this);
    return;
  }
  // Not ours: home in batches.
  auto* free = static_cast<memory::Block*>(block);
  memory::Outgoing& batch = outgoing_[owner];
  free->size_class = size_class;
  free->next = batch.newest;
  if (batch.newest == nullptr) batch.oldest = free;
  batch.newest = free;
  if (batch.count == 0) ++outgoing_owners_;
  if (++batch.count >= kHomeBatch) flush_outgoing(owner);
}

void Core::flush_outgoing(std::size_t owner) noexcept {
  memory::Outgoing& batch = outgoing_[owner];
  core_at(static_cast<std::uint16_t>(owner))->pool.give_remote(batch.newest, batch.oldest);
  batch = memory::Outgoing{};
  --outgoing_owners_;
}

void Core::flush_all_outgoing() noexcept {
  for (std::size_t owner = 0; outgoing_owners_ > 0; ++owner) {
    if (outgoing_[owner].count > 0) flush_outgoing(owner);
  }
}

void release_anywhere(void* block, std::uint16_t pool, std::uint8_t size_class,
                      Core* core) noexcept {
  if (core != nullptr) {
    core->release_block(block, pool, size_class);
  } else if (pool == kHeapPool) {
    memory::give_to_heap(block);
  } else {
    auto* free = static_cast<memory::Block*>(block);
    free->size_class = size_class;
    core_at(pool)->pool.give_remote(free, free);
  }
}

void release_anywhere(Signal* signal) noexcept {
  if (Core* core = Core::current(); core != nullptr) {
    core->release(signal);
  } else if (signal->pool == kBondPool) {
    give_bond(signal);
  } else if (signal->pool == kMessageHeap) {
    give_message_heap(signal);
  } else if (signal->pool == kTickPool) {
    give_tick(signal, nullptr);
  } else {
    release_anywhere(signal, signal->pool, signal->size_class, nullptr);
  }
}

}  // namespace bulkhead::core
