#include "core/watches.hpp"

#include <new>
#include <stdexcept>
#include <utility>

#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/requests.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

using Records = RecordSlab<SendTimer>;

void give_memory_back(Watching& watching, Core* core) noexcept {
  release_anywhere(&watching, watching.tick.pool, watching.tick.size_class, core);
}

// One that is in no list any more. Its slot is never unmapped; of all else nothing may be touched
// once somebody else has it.
void end_unlinked(Watching& watching, Core& core) noexcept {
  SendTimer& record = *watching.record;
  Slot& slot = *record.slot;
  const std::uint64_t epoch = record.epoch;
  watching.ops->withdraw(watching);
  bool is_mine = watching.tick.loan.end();
  if (!is_mine && slot.wait.claim(epoch)) is_mine = watching.tick.loan.come_home();
  if (!is_mine) {
    core.free_timers.replace();
    return;
  }
  static_cast<void>(next_generation(record));
  give_back(record, core);
  give_memory_back(watching, &core);
}

void leave(SendTimer& record) noexcept {
  unlink_from_owner(record);
  record.owner.store(Pid(), std::memory_order_relaxed);
}

}  // namespace

Watching& open_watch(const WatchOps& ops, const SignalOps* message, std::size_t signal_bytes) {
  const Inside inside;
  Core& core = *Core::current();
  Slot& slot = *core.running;
  static_cast<void>(extras_of(slot, core));
  SendTimer& record = take_send_timer(core, "net::watch");
  TickMemory memory{};
  try {
    take_slot_for(record);
    memory = take_tick_memory(core, sizeof(Watching) + signal_bytes);
  } catch (const std::bad_alloc&) {
    give_back(record, core);
    throw;
  }
  auto* watching = new (memory.block) Watching{};
  watching->tick.pool = memory.pool;
  watching->tick.size_class = memory.size_class;
  watching->tick.watches = true;
  Signal* signal = make_tick_signal(watching->tick);
  watching->pending = {&ops.news, signal, pid_of(slot), {record.index, 0}};
  watching->record = &record;
  watching->ops = &ops;
  watching->message = message;
  record.kind = TimerKind::kWatch;
  record.tick = &watching->tick;
  record.slot->state = &watching->pending;
  record.epoch = 0;
  watching->pending.request = {record.index, keep_send_timer(core, slot, record)};
  return *watching;
}

std::uint64_t wait_for_news(Watching& watching) noexcept {
  static_cast<void>(watching.tick.loan.lend());
  watching.signal()->flags = 0;
  return watching.record->epoch = watching.record->slot->wait.begin();
}

bool take_back(Watching& watching) noexcept {
  if (!watching.record->slot->wait.claim(watching.record->epoch)) return false;
  return !watching.tick.loan.come_home();
}

void tell_of(Watching& watching) noexcept {
  Slot& slot = *watching.record->slot;
  if (slot.wait.claim(watching.record->epoch)) respond(slot);
}

void end_watch(Watching& watching) noexcept {
  Core& core = *Core::current();
  {
    TimersOf timers(Slab::at(watching.pending.requester.index()), core);
    leave(*watching.record);
  }
  end_unlinked(watching, core);
}

void end_watches(Slot& slot, Core& core) noexcept {
  SendTimer* ended = nullptr;
  {
    const TimersOf timers(slot, core);
    for (SendTimer* next = slot.extras->timers; next != nullptr;) {
      SendTimer& record = *next;
      next = record.next_of_owner;
      if (record.kind != TimerKind::kWatch) continue;
      leave(record);
      record.next_of_owner = std::exchange(ended, &record);
    }
  }
  while (ended != nullptr) {
    SendTimer& record = *std::exchange(ended, ended->next_of_owner);
    end_unlinked(Watching::of(*record.tick->signal()), core);
  }
}

Watching* find_watch(std::uint32_t index) noexcept {
  const Core& core = *Core::current();
  const SendTimer* record = Records::process().find(index);
  if (record == nullptr || record->owner.load(std::memory_order_relaxed) != pid_of(*core.running) ||
      record->kind != TimerKind::kWatch) {
    return nullptr;
  }
  return &Watching::of(*record->tick->signal());
}

Slot& slot_of_watch(std::uint32_t index) noexcept { return *Records::process().find(index)->slot; }

bool watch_has_gone(Signal& signal) noexcept {
  const Watching& watching = Watching::of(signal);
  return watching.ops->has_gone(watching);
}

void give_watch_back(Watching& watching, Core* core) noexcept {
  SendTimer& record = *watching.record;
  const Slot* running = core != nullptr ? core->running : nullptr;
  const bool by_owner = running != nullptr && !running->has(Slot::kEnding) &&
                        record.owner.load(std::memory_order_relaxed) == pid_of(*running);
  if (watching.tick.loan.come_home()) {
    static_cast<void>(next_generation(record));
    FreeRecords<SendTimer>::give_to_process(record);
    give_memory_back(watching, core);
  } else if (by_owner && core->stack != nullptr && core->stack->in_hand_ops != nullptr) {
    watching.is_due = true;  // a green thread has just received it
    running->extras->watches_due = true;
  } else if (by_owner) {
    watching.ops->look(watching);
  }
}

// One that looks ends no other one that is due: nobody hears of that.
void look_at_due(Slot& slot, Core& core) noexcept {
  slot.extras->watches_due = false;
  Watching* due = nullptr;
  {
    const TimersOf timers(slot, core);
    for (SendTimer* record = slot.extras->timers; record != nullptr;
         record = record->next_of_owner) {
      if (record->kind != TimerKind::kWatch) continue;
      Watching& watching = Watching::of(*record->tick->signal());
      if (std::exchange(watching.is_due, false)) watching.next_due = std::exchange(due, &watching);
    }
  }
  while (due != nullptr) {
    Watching& watching = *std::exchange(due, due->next_due);
    watching.ops->look(watching);
  }
}

}  // namespace bulkhead::core
