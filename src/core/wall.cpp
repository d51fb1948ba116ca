// How messages, answers and what actors are made from get over the wall around an isolated actor:
// see compartment.hpp.
#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "bulkhead/config.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "memory/current_heap.hpp"

namespace bulkhead::core {

[[gnu::noinline]] bool in_compartment() noexcept {
  asm volatile("" ::: "memory");
  return memory::current_heap.is_isolated_code() && was_inside() == 0;
}

// --- which memory is current ---------------------------------------------------------------------

struct OverWall::Scope {
  struct Between {
    memory::Heap* to;    // null: the process's memory
    memory::Heap* from;  // likewise
    Belongings* owner;   // of what is handed over; null: nobody that is isolated
    Belongings* leaves;  // whose is what leaves, until it has left; or null
  };

  const std::uint8_t was;
  memory::CurrentHeap heap;
  Belongings* owner = nullptr;
  const char* critical = nullptr;
  Belongings* leaves = nullptr;
  std::size_t left = 0;
  Compartment* spawner = nullptr;

  // Inside, so that nobody takes the core away meanwhile. (Who was away comes home first.)
  Scope() noexcept : was(was_inside()) { static_cast<void>(enter(memory::CurrentHeap::kCrossing)); }
  void begin(const Between& between) noexcept;
  void end() noexcept;
};

// Of the thread. All of it is read and written out of line: to come in may be to change threads.

[[gnu::noinline]] void OverWall::Scope::begin(const Between& between) noexcept {
  asm volatile("" ::: "memory");
  heap = std::exchange(memory::current_heap, {between.to, between.from, &tl_seat.at.inside_word()});
  critical = std::exchange(base::critical, "a message crosses the wall around an isolated actor");
  owner = set_owner(between.owner);
  leaves = between.leaves;
  if (leaves != nullptr) left = leaves->begin_leaving();
}

[[gnu::noinline]] void OverWall::Scope::end() noexcept {
  asm volatile("" ::: "memory");
  if (leaves != nullptr) leaves->end_leaving(left);
  static_cast<void>(set_owner(owner));
  memory::current_heap = heap;
  base::critical = critical;
  tl_seat.at.leave(was);
}

namespace {

[[gnu::noinline]] memory::Heap* own_heap() noexcept {
  asm volatile("" ::: "memory");
  return memory::current_heap.heap;
}

// The caller's, if it is isolated, which notes that it makes that one.
Compartment* note_spawning(const NewActor& actor) {
  const BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr || !crosses_from(*core)) return nullptr;
  Compartment* spawner = compartment_of(*core->running);
  spawner->spawning.push_back(actor);
  return spawner;
}

}  // namespace

OverWall::OverWall(Way way, void* heap) noexcept {
  static_assert(sizeof(Scope) <= sizeof scope_);
  auto* scope = new (scope_) Scope;
  auto* its = static_cast<memory::Heap*>(heap);
  Belongings* mine = owner();
  scope->begin(way == Way::kOut ? Scope::Between{its, own_heap(), mine, mine}
                                : Scope::Between{own_heap(), its, mine, nullptr});
}

OverWall::OverWall(const NewActor& actor) {
  Compartment* spawner = note_spawning(actor);
  auto* scope = new (scope_) Scope;
  scope->spawner = spawner;
  if (actor.slot->state_pool == kActorsHeap) {
    Compartment* made = actor.extras->rare->compartment;
    scope->begin({made->heap, own_heap(), &made->belongings, nullptr});
  } else {
    scope->begin({nullptr, own_heap(), owner(), owner()});
  }
}

OverWall::OverWall(Compartment& to, void* from) noexcept {
  auto* scope = new (scope_) Scope;
  scope->begin({to.heap, static_cast<memory::Heap*>(from), &to.belongings, nullptr});
}

OverWall::~OverWall() {
  auto* scope = reinterpret_cast<Scope*>(scope_);
  Compartment* spawner = scope->spawner;
  scope->end();
  if (spawner != nullptr) spawner->spawning.pop_back();
}

// --- what leaves ---------------------------------------------------------------------------------

namespace {

// For what an isolated actor makes for others: nobody's yet; null where there are no heaps. What it
// is made from lies in the actor's own, so that twice as much is enough. Throws std::bad_alloc.
memory::Heap* take_heap() {
  if (!memory::kHeapsAreUsed) return nullptr;
  const memory::Heap* own = own_heap();
  const std::size_t most = memory::Heap::kMostLimit;
  memory::Heap* heap = memory::Heap::take(own != nullptr ? std::min(2 * own->limit(), most) : most);
  if (heap == nullptr) throw std::bad_alloc();
  return heap;
}

std::uint64_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uint64_t>(address);
}
Belonging named(const Belonging::Ops& ops, const void* first, std::uint64_t second = 0,
                std::uint64_t third = 0) noexcept {
  return {&ops, {number_of(first), second, third}};
}

constexpr auto kNeverOver = [](const Belonging& /*each*/) noexcept { return false; };

// A message between prepare and seal, and for whom.
constexpr Belonging::Ops kMessageOps = {
    kNeverOver, [](const Belonging& each) noexcept {
      auto* signal = reinterpret_cast<Signal*>(each.what[0]);
      if ((signal->flags & Signal::kBounded) != 0) {
        give_place_back(Slab::at(static_cast<std::uint32_t>(each.what[1])), *signal);
      }
      give_message_heap(signal);
    }};

}  // namespace

void discard_heap(void* heap) noexcept {
  if (heap != nullptr) static_cast<memory::Heap*>(heap)->discard();
}

namespace {

constexpr Belonging::Ops kHeapOps = {kNeverOver, [](const Belonging& each) noexcept {
                                       discard_heap(reinterpret_cast<void*>(each.what[0]));
                                     }};

}  // namespace

MessageHeap::MessageHeap() : heap_(nullptr) {
  const BrieflyInside inside;
  Belongings* mine = owner();
  if (mine != nullptr) mine->expect();
  heap_ = take_heap();
  if (mine != nullptr && heap_ != nullptr) mine->add(named(kHeapOps, heap_));
}

void* MessageHeap::release() noexcept {
  if (heap_ != nullptr) forget_of_caller(kHeapOps, number_of(heap_));
  return std::exchange(heap_, nullptr);
}

Signal* take_message(Pid to, std::size_t bytes) {
  Belongings* mine = owner();
  if (mine != nullptr) mine->expect();
  memory::Heap* heap = take_heap();
  void* block =
      heap != nullptr ? heap->allocate(bytes, kMaxMessageAlignment) : memory::take_from_heap(bytes);
  if (block == nullptr) {
    discard_heap(heap);
    throw std::bad_alloc();
  }
  auto* signal = static_cast<Signal*>(block);
  signal->flags = 0;
  if (mine != nullptr) mine->add(named(kMessageOps, signal, to.index()));
  return signal;
}

void give_message_heap(void* signal) noexcept {
  if (memory::kHeapsAreUsed) {
    memory::owner_of(signal)->discard();
  } else {
    memory::give_to_heap(signal);
  }
}

void forget_message(const Signal* signal) noexcept {
  forget_of_caller(kMessageOps, number_of(signal));
}

namespace {

memory::Heap* heap_around(const Signal& signal) noexcept {
  return signal.pool == kMessageHeap && memory::kHeapsAreUsed ? memory::owner_of(&signal) : nullptr;
}

}  // namespace

// In its sender's turn, outside.
void seal(Signal* signal, const SignalOps* ops) {
  if (ops->cross != nullptr) {
    const OverWall out(OverWall::Way::kOut, heap_around(*signal));
    ops->cross(signal);
    signal->flags |= Signal::kCrosses;
  }
  forget_message(signal);
}

void refuse_to_cross(std::string_view type) {
  throw std::logic_error("bulkhead: a message of type " + std::string(type) +
                         " cannot cross to or from an isolated actor: see check_crossable");
}

void refuse_to_share(const char* what, const char* instead) {
  if (!in_compartment()) return;
  throw std::logic_error(std::string("bulkhead: ") + what +
                         ": an isolated actor shares no memory with others: " + instead);
}

void refuse_to_isolate(std::string_view type) {
  throw ConfigError("bulkhead: an actor is spawned with " + std::string(type) +
                    ", which cannot cross to or from an isolated actor: see check_crossable; "
                    "functions must be no more than their bytes");
}

// --- what comes ----------------------------------------------------------------------------------

void cross_in(Signal& signal) {
  signal.flags = static_cast<std::uint8_t>(signal.flags & ~Signal::kCrosses);
  if (signal.ops->cross == nullptr) return;
  const OverWall in(OverWall::Way::kIn, heap_around(signal));
  signal.ops->cross(&signal);
}

// What an isolated actor is about to handle becomes its own, by its own code.
void Core::admit_over_wall(Signal& signal) {
  if (const std::size_t at = signal.ops->reply_at; at != 0) {
    owes_answer(*reinterpret_cast<const ReplyTo*>(reinterpret_cast<std::byte*>(&signal) + at));
  }
  cross_in(signal);
  signal.flags |= Signal::kCrossed;
}

// The same in mid-handler. One that cannot cross is dropped.
void Core::take_over_wall(const Slot& slot, Signal* signal) {
  try {
    if (slot.isolated()) {
      admit_over_wall(*signal);
    } else {
      cross_in(*signal);
    }
  } catch (...) {
    Core* core = come_inside();
    core->stack->in_hand_ops = nullptr;
    core->drop(signal, pid_of(slot), DropCause::kHandlerFailed);
    throw;
  }
}

// --- who is made anew ----------------------------------------------------------------------------

void* build_anew(Compartment& compartment, const ActorClass& kind) noexcept {
  try {
    const std::unique_ptr<Compartment, void (*)(Compartment*)> fresh(
        make_compartment(compartment.heap != nullptr ? compartment.heap->limit() : 0),
        discard_compartment);
    void* state = take_in_compartment(*fresh, kind.size, kind.alignment);
    if (state == nullptr) return nullptr;
    {
      const OverWall into(*fresh, compartment.seed->heap);
      compartment.seed->sow(*compartment.seed, state);
    }
    std::swap(fresh->heap, compartment.heap);
    std::swap(fresh->block, compartment.block);
    compartment.belongings.become(fresh->belongings);
    compartment.is_built = !compartment.seed->makes_itself;
    return state;
  } catch (...) {
    return nullptr;
  }
}

// --- who is answered -----------------------------------------------------------------------------

namespace {

// The asker's slot, the epoch of its wait, its frame.
ReplyTo reply_of(const Belonging& each) noexcept {
  return {reinterpret_cast<Slot*>(each.what[0]), each.what[1],
          reinterpret_cast<void*>(each.what[2])};
}
Belonging belonging(const Belonging::Ops& ops, const ReplyTo& to) noexcept {
  return named(ops, to.asker, to.epoch, number_of(to.frame));
}

constexpr Belonging::Ops kAnswerOps = {
    [](const Belonging& each) noexcept {
      const ReplyTo to = reply_of(each);
      return !to.asker->wait.waits(to.epoch);
    },
    [](const Belonging& each) noexcept { fail_ask(reply_of(each), AskError::kDied); }};

// What is done for one who waits: its frame, its slot, and the heap in which that is done.
constexpr Belonging::Ops kMadeOps = {kNeverOver, [](const Belonging& each) noexcept {
                                       discard_heap(reinterpret_cast<void*>(each.what[2]));
                                     }};
// The same, when its wait has been claimed.
constexpr Belonging::Ops kOwedOps = {kNeverOver, [](const Belonging& each) noexcept {
                                       discard_heap(reinterpret_cast<void*>(each.what[2]));
                                       fail_claimed({reinterpret_cast<Slot*>(each.what[1]), 0,
                                                     reinterpret_cast<void*>(each.what[0])},
                                                    AskError::kDied);
                                     }};

}  // namespace

void owes_answer(const ReplyTo& to) { belongs_to_caller(belonging(kAnswerOps, to)); }

Owed::Owed(const ReplyTo& to, Heap heap) : to_(to) {
  const BrieflyInside inside;
  Belongings* mine = owner();
  if (mine == nullptr) return;
  mine->expect();
  if (heap == Heap::kOwn) heap_ = take_heap();
  mine->add(named(kMadeOps, to.frame, number_of(to.asker), number_of(heap_)));
}

bool Owed::claim() noexcept {
  const BrieflyInside inside;
  if (!core::claim(to_)) return false;
  note();
  return true;
}

void Owed::note() noexcept {
  const BrieflyInside inside;
  Belongings* mine = owner();
  if (mine != nullptr) mine->find(kMadeOps, number_of(to_.frame))->ops = &kOwedOps;
}

Owed::~Owed() {
  {
    const BrieflyInside inside;
    if (Belongings* mine = owner(); mine != nullptr) {
      mine->forget(kMadeOps, number_of(to_.frame));
      mine->forget(kOwedOps, number_of(to_.frame));
    }
  }
  discard_heap(heap_);
}

}  // namespace bulkhead::core
