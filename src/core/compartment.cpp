// Isolated actors: what surrounds their code, and how they end. See trap.hpp.
#include <cxxabi.h>

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/critical.hpp"
#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "core/exception_head.hpp"
#include "core/inside.hpp"
#include "core/reporter.hpp"
#include "core/slab.hpp"
#include "core/trap.hpp"
#include "machine/fiber.hpp"

namespace bulkhead::core {

void Core::enter_compartment(const Slot& /*slot*/) noexcept {}
void Core::leave_compartment() noexcept {}

// The exception may hold what lies in the actor's heap: only what it says outlives the actor.
Exit Core::read_out_isolated(std::exception_ptr failure) noexcept {
  bool out_of_memory = false;
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  } catch (...) {
  }
  Exit exit = read_out(std::move(failure));
  if (out_of_memory) return Exit::trapped(TrapKind::kMemory, exit.message(), exit.stack());
  exit.forget_failure();
  return exit;
}

// Its destructor runs as the last thing of its turn (T4).
void Core::destroy_isolated(Slot& slot, const Exit& exit, std::unique_ptr<Told>& told,
                            const Settled& settled) {
  Core* core = current();
  machine::Stack& me = *core->stack;
  me.handled = settled.handled;
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

void Core::land(void* stack) {
  auto* me = static_cast<machine::Stack*>(stack);
  machine::landed(me);
  base::critical = nullptr;  // what was in its way is gone
  give_back_exceptions(*machine::thread_exceptions());
  go_on_after_trap(std::exchange(*tl_seat.worker->trap, Trap()), me);
}

// Where this returns to, nobody is any more.
void Core::go_on_after_trap(Trap trap, machine::Stack* me) {
  Core* core = back_inside(me);
  end_trapped(*core->running, me, trap);
  leave_compartment();
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
  settled.dropped = discard_in_hand(slot, me, DropCause::kHandlerFailed);
  // It was asked for its receive timeout.
  if (std::exchange(me->asked, false)) me->core->counts.timeouts_ended.raise();
  const bool was_crash = is_crash(trap.earlier);
  Exit exit = was_crash ? std::exchange(trap.earlier, Exit())
                        : Exit::trapped(trap.kind, trap.message(), trap.stack(), trap.thrown);
  finish(slot, std::exchange(exit, Exit()), settled);
}

}  // namespace bulkhead::core
