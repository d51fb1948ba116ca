#include "core/faults.hpp"

#include <cstdlib>

#include "core/at_work.hpp"
#include "core/compartment.hpp"
#include "core/containable.hpp"
#include "core/static_locals.hpp"
#include "core/trap.hpp"
#include "machine/fault.hpp"
#include "memory/heap.hpp"

namespace bulkhead::core {

namespace {

using machine::Fault;
using machine::FaultKind;
using machine::SignalSafeText;

// What lies below is taken for a null pointer, or a member by way of one.
constexpr std::uintptr_t kNearNull = 4096;

TrapKind trap_kind_of(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::kStackOverflow:
      return TrapKind::kStackOverflow;
    case FaultKind::kAccess:
      return TrapKind::kAccess;
    case FaultKind::kArithmetic:
      return TrapKind::kArithmetic;
    case FaultKind::kInstruction:
      return TrapKind::kInstruction;
    case FaultKind::kAbort:  // by the C library, which may hold a lock; others do not get here
    case FaultKind::kSent:
      break;
  }
  return TrapKind::kNone;
}

void describe(SignalSafeText& line, const Fault& fault, FaultKind kind,
              const machine::Stack& stack) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(fault.address);
  switch (kind) {
    case FaultKind::kStackOverflow:
      line << "its stack has " << stack.size()
           << " bytes: ask for more with SpawnOptions::stack_size or Config::stack_size";
      break;
    case FaultKind::kAccess:
      line << machine::name_of_signal(fault.signal);
      if (machine::has_no_address(fault)) {
        line << ", at an address that cannot be";
      } else {
        line << (address < kNearNull ? ", near the null pointer, at address " : ", at address ");
        line.hexadecimal(address);
      }
      break;
    case FaultKind::kArithmetic:
      line << machine::name_of_signal(fault.signal)
           << ", an integer division by zero, or one that overflows";
      break;
    default:
      line << machine::name_of_signal(fault.signal);
      break;
  }
}

// A fault of an isolated actor's own code: it ends, and the thread goes on with the core's loop.
enum class Contained : std::uint8_t { kNot, kToldWhyNot, kYes };
Contained contain(const Fault& fault, FaultKind kind, AtWork& work) noexcept {
  const TrapKind trapped = trap_kind_of(kind);
  if (trapped == TrapKind::kNone || work.isolated() == nullptr) return Contained::kNot;
  Trap& trap = *tl_seat.worker->trap;
  machine::Stack* stack = work.stack();
  trap.kind = trapped;
  trap.depth = machine::walk_from(fault, trap.frames);
  SignalSafeText line;
  describe(line, fault, kind, *stack);
  trap.length = 0;
  trap.say(line.text());
  if (const char* why = why_not_contained(*work.isolated(), trap.stack()); why != nullptr) {
    tell_uncontained(work, trap, why);
    return Contained::kToldWhyNot;
  }
  trap.note_ending(*stack);
  work.stay_inside();
  machine::go_on_in(fault, stack, &Core::land, stack);
  return Contained::kYes;
}

// Found by its own code, as it allocates or frees.
void heap_is_damaged(const char* what) noexcept {
  trap_if_isolated(TrapKind::kHeap, what);
  SignalSafeText line;
  line << "bulkhead: the heap of an isolated actor is damaged, which the runtime's own code found: "
       << what;
  line.write_to_stderr();
  std::abort();
}

bool tell(const Fault& fault) noexcept {
  if (tl_seat.at.mine() == nullptr) return false;
  AtWork work;
  static constexpr machine::Stack kUnknown{};
  const machine::Stack* known = work.stack();
  const machine::Stack& stack = known != nullptr ? *known : kUnknown;
  const FaultKind kind = machine::kind_of_fault(fault.signal, fault.code, fault.address, &stack);
  const Contained contained = contain(fault, kind, work);
  if (contained != Contained::kNot) return contained == Contained::kYes;
  SignalSafeText line;
  line << "bulkhead: ";
  if (kind == FaultKind::kStackOverflow) {
    line << "stack overflow in ";
    work.name(line);
    line << ", ";
    describe(line, fault, kind, stack);
  } else {
    line << machine::name_of_signal(fault.signal) << " in ";
    work.name(line);
    if (kind == FaultKind::kSent) {
      line << ", sent by somebody, not a fault of its own";
    } else if (kind == FaultKind::kAccess) {
      line << ", at address ";
      line.hexadecimal(reinterpret_cast<std::uintptr_t>(fault.address));
    }
  }
  line.write_to_stderr();
  return false;
}

}  // namespace

void report_faults() {
  memory::set_heap_fault(&heap_is_damaged);
  contain_termination();
  keep_static_locals();
  keep_exceptions();
  machine::watch_faults(&tell);
}

}  // namespace bulkhead::core
