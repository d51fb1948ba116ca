#include "core/requests.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/compartment.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "memory/heap.hpp"

namespace bulkhead::core {

namespace {

using Records = RecordSlab<SendTimer>;

}  // namespace

void take_slot_for(SendTimer& timer) {
  if (timer.slot != nullptr) return;
  timer.slot = Slab::process().take_unused();
  if (timer.slot == nullptr) throw std::bad_alloc();
  timer.slot->home.store(kRequestHome, std::memory_order_release);
}

bool is_caller(Pid actor, const char* function) {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr || core->running == nullptr || pid_of(*core->running) != actor) {
    throw std::logic_error(std::string("bulkhead: ") + function +
                           " was called outside the actor that is to get the message");
  }
  return !core->running->has(Slot::kEnding);
}

OpenRequest open_request(Pending& pending, Timeout timeout) {
  const Inside inside;
  Core& core = *Core::current();
  Slot& slot = *core.running;
  static_cast<void>(extras_of(slot, core));
  SendTimer& timer = take_send_timer(core, "request");
  try {
    take_slot_for(timer);
  } catch (const std::bad_alloc&) {
    give_back(timer, core);
    throw;
  }
  timer.kind = TimerKind::kRequest;
  timer.signal = pending.signal;
  timer.slot->state = &pending;
  timer.epoch = timer.slot->wait.begin();
  const OpenRequest open{{timer.slot, timer.epoch},
                         {timer.index, timer.generation.load(std::memory_order_relaxed) + 1}};
  pending.request = open.request;
  start_send_timer(core, slot, timer, timeout.nanoseconds());
  return open;
}

void respond(Slot& slot) noexcept {
  Pending& pending = *static_cast<Pending*>(slot.state);
  const Pid requester = pending.requester;
  const SignalOps& news = pending.ops->news;
  Signal* signal = nullptr;
  {
    const InTheMiddle here;  // to move an answer is the user's code
    signal = pending.ops->respond(pending);
  }
  signal->ops = &news;
  signal->generation = requester.generation();
  signal->flags |= Signal::kUrgent | Signal::kLosesNothing;
  send_news(requester, signal);
}

Signal* signal_in_heap(void* heap, std::size_t bytes) noexcept {
  auto* signal =
      static_cast<Signal*>(static_cast<memory::Heap*>(heap)->allocate(bytes, kMaxMessageAlignment));
  if (signal == nullptr) return nullptr;
  signal->pool = kMessageHeap;
  signal->size_class = kHeapClass;
  signal->flags = Signal::kCrosses;
  return signal;
}

bool end_request(void* requester, RequestRef request) noexcept {
  const Slot& slot = *static_cast<Slot*>(requester);
  Core& core = *Core::current();
  SendTimer& timer = *Records::process().find(request.index());
  if (!timer.owner.load(std::memory_order_relaxed)) return false;
  {
    TimersOf timers(slot, core);
    if (timer.linked()) timers.cancel(timer);
    retire_send_timer(timer);
  }
  give_back(timer, core);
  return true;
}

Signal* queue_response(void* requester, Signal* signal, const SignalOps* ops) noexcept {
  const auto flags = static_cast<std::uint8_t>(signal->flags & Signal::kCrosses);
  return queue_heard(*static_cast<Slot*>(requester), signal, ops, flags);
}

void drop_request(RequestRef request) noexcept {
  SendTimer& timer = *Records::process().find(request.index());
  static_cast<void>(next_generation(timer));
  FreeRecords<SendTimer>::give_to_process(timer);
}

void leave_requests(Slot& slot, Core& core) noexcept {
  SendTimer* ended = nullptr;
  std::uint32_t left = 0;
  {
    TimersOf timers(slot, core);
    for (SendTimer* next = slot.extras->timers; next != nullptr;) {
      SendTimer& timer = *next;
      next = timer.next_of_owner;
      if (timer.kind != TimerKind::kRequest) continue;
      if (timer.linked()) timers.cancel(timer);
      if (is_time_up(timer)) {
        retire_send_timer(timer);
        timer.next_of_owner = std::exchange(ended, &timer);
      } else {
        unlink_from_owner(timer);
        timer.owner.store(Pid(), std::memory_order_relaxed);
        ++left;
      }
    }
  }
  while (ended != nullptr) {
    SendTimer& timer = *ended;
    ended = timer.next_of_owner;
    core.release(timer.signal);
    give_back(timer, core);
  }
  for (; left > 0; --left) core.free_timers.replace();
}

}  // namespace bulkhead::core
