// Isolated actors: what surrounds their code, and how they end. See trap.hpp.
#include "core/compartment.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/critical.hpp"
#include "base/sanitizers.hpp"
#include "bulkhead/config.hpp"
#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "core/exception_head.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/reporter.hpp"
#include "core/slab.hpp"
#include "core/trap.hpp"
#include "machine/fault.hpp"
#include "machine/fiber.hpp"
#include "memory/current_heap.hpp"

namespace bulkhead::core {

// --- what there is of it ------------------------------------------------------------------------

Compartment* compartment_of(const Slot& slot) noexcept {
  return slot.isolated() ? slot.extras->rare->compartment : nullptr;
}

Compartment* make_compartment(std::size_t heap_limit) {
  auto compartment = std::make_unique<Compartment>();
  compartment->heap_limit = heap_limit;
  if (memory::kHeapsAreUsed) {
    compartment->heap = memory::Heap::take(heap_limit);
    if (compartment->heap == nullptr) throw std::bad_alloc();
  }
  return compartment.release();
}

void* take_in_compartment(Compartment& compartment, std::size_t bytes,
                          std::size_t alignment) noexcept {
  if (compartment.heap != nullptr) return compartment.heap->allocate(bytes, alignment);
  compartment.alignment = std::align_val_t(alignment);
  return compartment.block = ::operator new(bytes, compartment.alignment, std::nothrow);
}

Exit outlasting(const Core& core, Exit exit) {
  return crosses_from(core) ? bulkhead::Crossing<Exit>::cross(exit) : exit;
}

void discard_compartment(Compartment* compartment) noexcept {
  release_all(compartment->parcels);
  if (compartment->seed != nullptr) discard_seed(compartment->seed);
  if (compartment->heap != nullptr) compartment->heap->discard();
  ::operator delete(compartment->block, compartment->alignment);
  delete compartment;
}

// Out of line: the thread may be another one than a moment ago.
[[gnu::noinline]] void Core::enter_compartment(const Slot& slot) noexcept {
  asm volatile("" ::: "memory");
  Compartment& compartment = *compartment_of(slot);
  memory::current_heap = {compartment.heap, nullptr, &tl_seat.at.inside_word()};
  set_parcel_owners({&compartment.parcels, &compartment.parcels});
}
[[gnu::noinline]] void Core::leave_compartment() noexcept {
  asm volatile("" ::: "memory");
  memory::current_heap = {};
  set_parcel_owners({});
}

// --- what it has that others know of -------------------------------------------------------------

namespace {

// Whose something is that crosses to another memory at the moment.
constinit thread_local bool is_crossing = false;
constinit thread_local Compartment* crosses_to = nullptr;

// An answer that is owed: the asker's slot, the epoch of its wait, its frame.
ReplyTo reply_of(const Belonging& each) noexcept {
  return {reinterpret_cast<Slot*>(each.what[0]), each.what[1],
          reinterpret_cast<void*>(each.what[2])};
}

constexpr Belonging::Ops kAnswer = {
    [](const Belonging& each) noexcept {
      const ReplyTo to = reply_of(each);
      return !to.asker->wait.waits(to.epoch);
    },
    [](const Belonging& each) noexcept { fail_ask(reply_of(each), AskError::kDied); }};

Belonging answer_to(const ReplyTo& to) noexcept {
  return {&kAnswer,
          {reinterpret_cast<std::uint64_t>(to.asker), to.epoch,
           reinterpret_cast<std::uint64_t>(to.frame)}};
}

}  // namespace

void add_belonging(Compartment& compartment, const Belonging& belonging) {
  std::vector<Belonging>& all = compartment.belongings;
  if (all.size() >= compartment.prune_at) {
    std::erase_if(all, [](const Belonging& each) { return each.ops->is_over(each); });
    compartment.prune_at = std::max<std::size_t>(16, 2 * all.size());
  }
  all.push_back(belonging);
}

void belongs_to_caller(const Belonging& belonging) {
  const BrieflyInside inside;
  if (is_crossing) {
    if (crosses_to != nullptr) add_belonging(*crosses_to, belonging);
    return;
  }
  const Core* core = inside.core();
  if (core == nullptr || !crosses_from(*core)) return;
  add_belonging(*compartment_of(*core->running), belonging);
}

void release_belongings(Compartment& compartment) noexcept {
  for (const Belonging& each : std::exchange(compartment.belongings, {})) each.ops->release(each);
}

// --- the wall -----------------------------------------------------------------------------------

bool crosses_from(const Core& core) noexcept {
  return core.running != nullptr && core.running->isolated();
}

Signal* take_message_heap(const Core& core, Pid to, std::size_t bytes) {
  std::vector<Compartment::Making>& making = compartment_of(*core.running)->making;
  making.reserve(making.size() + 1);
  void* block = nullptr;
  if (!memory::kHeapsAreUsed) {
    block = memory::take_from_heap(bytes);
  } else if (memory::Heap* heap = memory::Heap::take(memory::Heap::kMostLimit); heap != nullptr) {
    block = heap->allocate(bytes, kMaxMessageAlignment);
    if (block == nullptr) heap->discard();
  }
  if (block == nullptr) throw std::bad_alloc();
  auto* signal = static_cast<Signal*>(block);
  making.push_back({signal, to});
  return signal;
}

void give_message_heap(void* signal) noexcept {
  if (memory::kHeapsAreUsed) {
    memory::owner_of(signal)->discard();
  } else {
    memory::give_to_heap(signal);
  }
}

void forget_making(const Core& core, const Signal* signal) noexcept {
  if (!crosses_from(core)) return;
  std::erase_if(compartment_of(*core.running)->making,
                [signal](const Compartment::Making& each) { return each.signal == signal; });
}

void withdraw_making(Compartment& compartment) noexcept {
  for (const Compartment::Making& each : std::exchange(compartment.making, {})) {
    if ((each.signal->flags & Signal::kBounded) != 0) {
      give_place_back(Slab::at(each.to.index()), *each.signal);
    }
    give_message_heap(each.signal);
  }
}

namespace {

struct Destination {
  memory::Heap* heap = nullptr;  // null: the process's memory
  Compartment* owner = nullptr;  // null: nobody that is isolated, such as a message
};

// The memory that is current while a message crosses, that which it comes from, and who gets what
// is handed over. The user's code may run, and fail; nothing switches stacks.
class Across {
 public:
  Across(Destination to, memory::Heap* from, ParcelOwners owners) noexcept
      : was_(come_in()), before_(begin(to, from, owners)) {}
  Across(const Across&) = delete;
  Across& operator=(const Across&) = delete;
  ~Across() { end(before_, was_); }

 private:
  // Of the thread. All of it is read and written out of line: to come in may be to change threads.
  struct State {
    memory::CurrentHeap heap;
    ParcelOwners parcels;
    const char* critical;
    bool is_crossing;
    Compartment* crosses_to;
  };

  // Inside, so that nobody takes the core away meanwhile. (Who was away comes home first.)
  static std::uint8_t come_in() noexcept {
    const std::uint8_t was = was_inside();
    static_cast<void>(enter(memory::CurrentHeap::kCrossing));
    return was;
  }
  [[gnu::noinline]] static State begin(Destination to, memory::Heap* from,
                                       ParcelOwners owners) noexcept {
    const State before{memory::current_heap, set_parcel_owners(owners), base::critical, is_crossing,
                       crosses_to};
    memory::current_heap = {to.heap, from, &tl_seat.at.inside_word()};
    base::critical = "a message crosses the wall around an isolated actor";
    is_crossing = true;
    crosses_to = to.owner;
    return before;
  }
  [[gnu::noinline]] static void end(const State& before, std::uint8_t was) noexcept {
    memory::current_heap = before.heap;
    set_parcel_owners(before.parcels);
    base::critical = before.critical;
    is_crossing = before.is_crossing;
    crosses_to = before.crosses_to;
    tl_seat.at.leave(was);
  }

  const std::uint8_t was_;
  const State before_;
};

memory::Heap* heap_around(const Signal& signal) noexcept {
  return signal.pool == kMessageHeap && memory::kHeapsAreUsed ? memory::owner_of(&signal) : nullptr;
}

}  // namespace

// In its sender's turn, outside.
void seal(Signal* signal, const SignalOps* ops) {
  if (ops->cross != nullptr) {
    const Across across({.heap = heap_around(*signal)}, memory::current_heap.heap,
                        {parcel_owners().from, nullptr});
    ops->cross(signal);
    signal->flags |= Signal::kCrosses;
  }
  const BrieflyInside inside;
  forget_making(*inside.core(), signal);
}

void refuse_to_cross(std::string_view type) {
  throw std::logic_error("bulkhead: a message of type " + std::string(type) +
                         " cannot cross to or from an isolated actor: see check_crossable");
}

void cross_in(Compartment* to, Signal& signal) {
  signal.flags = static_cast<std::uint8_t>(signal.flags & ~Signal::kCrosses);
  if (signal.ops->cross == nullptr) return;
  const Across across({.heap = to != nullptr ? to->heap : nullptr, .owner = to},
                      heap_around(signal), {nullptr, parcel_owners().to});
  signal.ops->cross(&signal);
}

// What an isolated actor is about to handle becomes its own, by its own code.
void Core::admit_over_wall(const Slot& slot, Signal& signal) {
  Compartment& compartment = *compartment_of(slot);
  if (const std::size_t at = signal.ops->reply_at; at != 0) {
    const auto* to = reinterpret_cast<const ReplyTo*>(reinterpret_cast<std::byte*>(&signal) + at);
    add_belonging(compartment, answer_to(*to));
  }
  cross_in(&compartment, signal);
}

// The same in mid-handler. One that cannot cross is dropped.
void Core::take_over_wall(const Slot& slot, Signal* signal) {
  try {
    if (slot.isolated()) {
      admit_over_wall(slot, *signal);
    } else {
      cross_in(nullptr, *signal);
    }
  } catch (...) {
    Core* core = come_inside();
    core->stack->in_hand_ops = nullptr;
    core->drop(signal, pid_of(slot), DropCause::kHandlerFailed);
    throw;
  }
}

// --- who spawns an isolated actor ----------------------------------------------------------------

struct BuildingIn::Scope {
  Scope(Compartment* made, Compartment* spawner)
      : spawner_(spawner),
        across_({.heap = made != nullptr ? made->heap : nullptr, .owner = made},
                spawner != nullptr ? spawner->heap : nullptr,
                {parcel_owners().from, made != nullptr ? &made->parcels : nullptr}) {}
  Compartment* spawner_;
  Across across_;
};

BuildingIn::BuildingIn(const NewActor& actor) {
  static_assert(sizeof(Scope) <= sizeof scope_);
  Compartment* spawner = nullptr;
  {
    const BrieflyInside inside;
    const Core* core = inside.core();
    if (core != nullptr && crosses_from(*core)) spawner = compartment_of(*core->running);
    if (spawner != nullptr) spawner->spawning.push_back(actor);
  }
  const bool isolated = actor.slot->state_pool == kActorsHeap;
  new (scope_) Scope(isolated ? actor.extras->rare->compartment : nullptr, spawner);
}

BuildingIn::~BuildingIn() {
  auto* scope = reinterpret_cast<Scope*>(scope_);
  Compartment* spawner = scope->spawner_;
  scope->~Scope();
  if (spawner != nullptr) spawner->spawning.pop_back();
}

MessageHeap::MessageHeap() : heap_(nullptr) {
  if (!memory::kHeapsAreUsed) return;
  heap_ = memory::Heap::take(memory::Heap::kMostLimit);
  if (heap_ == nullptr) throw std::bad_alloc();
}

void MessageHeap::discard(void* heap) noexcept {
  if (heap != nullptr) static_cast<memory::Heap*>(heap)->discard();
}

void* build_anew(Compartment& compartment, const ActorClass& kind) noexcept {
  try {
    const std::unique_ptr<Compartment, void (*)(Compartment*)> fresh(
        make_compartment(compartment.heap_limit), discard_compartment);
    void* state = take_in_compartment(*fresh, kind.size, kind.alignment);
    if (state == nullptr) return nullptr;
    {
      const Across across({.heap = fresh->heap, .owner = fresh.get()},
                          static_cast<memory::Heap*>(compartment.seed->heap), {});
      compartment.seed->sow(*compartment.seed, state);
    }
    std::swap(fresh->heap, compartment.heap);
    std::swap(fresh->block, compartment.block);
    std::swap(fresh->parcels, compartment.parcels);
    compartment.belongings = std::move(fresh->belongings);
    compartment.is_built = !compartment.seed->makes_itself;
    return state;
  } catch (...) {
    return nullptr;
  }
}

namespace {

Compartment* own_compartment() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  return core != nullptr && crosses_from(*core) ? compartment_of(*core->running) : nullptr;
}

}  // namespace

OverWall::OverWall(Way way, void* heap) noexcept {
  static_assert(sizeof(Across) <= sizeof scope_);
  auto* its = static_cast<memory::Heap*>(heap);
  memory::Heap* mine = memory::current_heap.heap;
  const ParcelOwners owners = parcel_owners();
  if (way == Way::kOut) {
    new (scope_) Across({.heap = its}, mine, {owners.from, nullptr});
  } else {
    new (scope_) Across({.heap = mine, .owner = own_compartment()}, its, {nullptr, owners.to});
  }
}

OverWall::~OverWall() { reinterpret_cast<Across*>(scope_)->~Across(); }

[[gnu::noinline]] bool in_compartment() noexcept {
  asm volatile("" ::: "memory");
  return memory::current_heap.heap != nullptr && was_inside() == 0;
}

void refuse_to_isolate(std::string_view type) {
  throw ConfigError("bulkhead: an actor is spawned with " + std::string(type) +
                    ", which cannot cross to or from an isolated actor: see check_crossable; "
                    "functions must be no more than their bytes");
}

// --- how it ends --------------------------------------------------------------------------------

// The exception may hold what lies in the actor's heap: only what it says outlives the actor.
Exit Core::read_out_isolated(std::exception_ptr failure) noexcept {
  bool out_of_memory = false;
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  } catch (...) {
  }
  const Exit exit = read_out(std::move(failure));
  try {
    if (!out_of_memory) return bulkhead::Crossing<Exit>::cross(exit);
  } catch (const std::bad_alloc&) {  // of the process's memory
  }
  return Exit::trapped(TrapKind::kMemory, exit.message(), exit.stack());
}

// Its destructor runs as the last thing of its turn (T4).
void Core::destroy_isolated(Slot& slot, const Exit& exit, std::unique_ptr<Told>& told,
                            const Settled& settled) {
  Core* core = current();
  machine::Stack& me = *core->stack;
  me.handled = settled.handled;
  me.dropped = settled.dropped;
  me.exit = &exit;
  me.told = told.release();
  me.crash = me.told != nullptr ? me.told->crash.get() : nullptr;
  core->leave();
  slot.kind->destroy(slot.state);
  static_cast<void>(come_inside());
  me.crash = nullptr;
  me.exit = nullptr;
  told.reset(std::exchange(me.told, nullptr));
}

namespace {

// Of one that an abandoned frame has caught: its memory is given back, and nothing of it is called.
void give_back(ExceptionHead* exception) noexcept {
  constexpr _Unwind_Exception_Class kDependent = 1;  // the last byte of its class: rethrown
  void* object = exception + 1;
  if ((exception->header.exception_class & 0xff) == kDependent) {
    abi::__cxa_free_dependent_exception(static_cast<abi::__cxa_dependent_exception*>(object));
  } else {
    abi::__cxa_free_exception(object);
  }
}

void give_back_exceptions(machine::ExceptionState& state) noexcept {
  constexpr std::size_t kBefore = 4 * sizeof(void*);  // of an exception's record, its head
  for (void* caught = std::exchange(state.caught, nullptr); caught != nullptr;) {
    auto* head = reinterpret_cast<ExceptionHead*>(static_cast<std::byte*>(caught) + kBefore);
    caught = head->next;
    give_back(head);
  }
  state.uncaught = 0;
}

}  // namespace

BULKHEAD_NO_ASAN void Core::land(void* stack) {
  auto* me = static_cast<machine::Stack*>(stack);
  machine::landed(me);
  go_on_after_trap(me);
}

// Where this returns to, nobody is any more.
void Core::go_on_after_trap(machine::Stack* me) {
  machine::reset_floating_point();
  base::critical = nullptr;  // what was in its way is gone
  is_crossing = false;
  crosses_to = nullptr;
  leave_compartment();
  give_back_exceptions(*machine::thread_exceptions());
  Trap trap = std::exchange(*tl_seat.worker->trap, Trap());
  Core* core = back_inside(me);
  end_trapped(*core->running, me, trap);
  leave_compartment();  // who was away has come home to it
  core = me->core;
  machine::Stack* fresh = me;
  try {
    fresh = core->take_stack(me->size_class);
    core->stacks.give(me);
  } catch (const std::exception&) {  // then it goes on on the old one
    fresh = me;
  }
  core->stack = fresh;
  machine::restart(me, fresh, core->entry_, fresh);
}

void Core::end_trapped(Slot& slot, machine::Stack* me, Trap& trap) {
  me->crash = nullptr;
  Settled settled{
      .handled = me->handled, .trapped = true, .told = std::exchange(me->told, nullptr)};
  settled.in_hand = name_in_hand(slot, *me);
  // It was asked for its receive timeout.
  if (std::exchange(me->asked, false)) me->core->counts.timeouts_ended.raise();
  const bool was_crash = is_crash(trap.earlier);
  Exit exit = was_crash ? std::exchange(trap.earlier, Exit())
                        : Exit::trapped(trap.kind, trap.message(), trap.stack(), trap.thrown);
  me->exit = &exit;
  withdraw_making(*compartment_of(slot));
  for (const NewActor& each : std::exchange(compartment_of(slot)->spawning, {})) cancel_spawn(each);
  settled.dropped = me->dropped + discard_in_hand(slot, me, DropCause::kHandlerFailed);
  release_belongings(*compartment_of(slot));
  finish(slot, std::exchange(exit, Exit()), settled);
}

}  // namespace bulkhead::core
