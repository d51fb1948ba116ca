// Isolated actors: what surrounds their code, and how they end. See trap.hpp.
#include "core/compartment.hpp"

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/critical.hpp"
#include "base/sanitizers.hpp"
#include "core/containable.hpp"
#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/reporter.hpp"
#include "core/slab.hpp"
#include "core/trap.hpp"
#include "machine/exceptions_made.hpp"
#include "machine/fault.hpp"
#include "machine/fiber.hpp"
#include "memory/current_heap.hpp"

namespace bulkhead::core {

// --- what there is of it ------------------------------------------------------------------------

Compartment* compartment_of(const Slot& slot) noexcept {
  return slot.isolated() ? slot.extras->rare->compartment : nullptr;
}

Compartment* make_compartment(std::size_t heap_limit) {
  learn_what_can_be_contained();
  auto compartment = std::make_unique<Compartment>();
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
  compartment->belongings.release_all();
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
  static_cast<void>(set_owner(&compartment.belongings));
  const machine::Stack* stack = current()->stack;
  compartment.locks.stack = stack->bottom;
  compartment.locks.end_of_stack = reinterpret_cast<const std::byte*>(stack);
  machine::count_locks(&compartment.locks);
}
[[gnu::noinline]] void Core::leave_compartment() noexcept {
  asm volatile("" ::: "memory");
  memory::current_heap = {};
  static_cast<void>(set_owner(nullptr));
  machine::count_locks(nullptr);
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
void Core::destroy_isolated(Slot& slot, std::unique_ptr<Told>& told, const Settled& settled) {
  Core* core = current();
  machine::Stack& me = *core->stack;
  me.handled = settled.handled;
  me.dropped = settled.dropped;
  me.told = told.release();
  me.crash = me.told != nullptr ? me.told->crash.get() : nullptr;
  enter_compartment(slot);
  core->leave();
  slot.kind->destroy(slot.state);
  static_cast<void>(come_inside());
  leave_compartment();
  me.crash = nullptr;
  told.reset(std::exchange(me.told, nullptr));
}

namespace {

// The memory of an exception that it has thrown, and that nobody has let go of.
constexpr Belonging::Ops kException = {
    [](const Belonging& /*each*/) noexcept { return false; },
    [](const Belonging& each) noexcept {
      machine::give_back_exception(reinterpret_cast<void*>(each.what[0]), each.what[1] != 0);
    }};

// Without memory to note it by it is lost at a trap. (What that would throw is noted nowhere.)
void note_exception(void* exception, bool is_dependent) noexcept {
  if (!may_have_owner()) [[likely]]
    return;
  const BrieflyInside inside;
  Belongings* mine = set_owner(nullptr);
  if (mine == nullptr) return;
  try {
    mine->add(
        {&kException, {reinterpret_cast<std::uint64_t>(exception), is_dependent ? 1u : 0u, 0}});
  } catch (const std::bad_alloc&) {  // NOLINT
  }
  static_cast<void>(set_owner(mine));
}
void forget_exception(void* exception) noexcept {
  forget_of_caller(kException, reinterpret_cast<std::uint64_t>(exception));
}

constexpr machine::ExceptionWatcher kExceptionWatcher{&note_exception, &forget_exception};

}  // namespace

void keep_exceptions() noexcept { machine::watch_exceptions(kExceptionWatcher); }

BULKHEAD_NO_ASAN void Core::land(void* stack) {
  auto* me = static_cast<machine::Stack*>(stack);
  machine::landed(me);
  go_on_after_trap(me);
}

// Where this returns to, nobody is any more.
void Core::go_on_after_trap(machine::Stack* me) {
  machine::reset_floating_point();
  base::critical = nullptr;  // what was in its way is gone
  leave_compartment();
  *machine::thread_exceptions() = {};  // their memory is among its belongings
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
  compartment_of(slot)->is_lost = true;
  for (const NewActor& each : std::exchange(compartment_of(slot)->spawning, {})) cancel_spawn(each);
  settled.dropped = me->dropped + discard_in_hand(slot, me, DropCause::kHandlerFailed);
  finish(slot, std::exchange(exit, Exit()), std::move(settled));
}

}  // namespace bulkhead::core
