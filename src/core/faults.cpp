#include "core/faults.hpp"

#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "machine/fault.hpp"

namespace bulkhead::core {

namespace {

using machine::Fault;
using machine::FaultKind;
using machine::SignalSafeText;

// All in the signal handler, of the thread that faulted: what is read is that thread's own (F2). An
// actor whose core has gone on without it is named by the thread's worker.
const Worker* left_behind() noexcept {
  const Worker* worker = tl_seat.worker;
  return worker != nullptr && worker->away != nullptr ? worker : nullptr;
}

void name(SignalSafeText& line, Pid pid, const ActorClass& kind) noexcept {
  line << "actor <" << pid.index() << "." << pid.generation() << "> (";
  line.append(kind.name.data(), kind.name.size()) << ")";
}

void name_actor(SignalSafeText& line) noexcept {
  if (const Worker* worker = left_behind(); worker != nullptr) {
    name(line, worker->away_pid, *worker->away_kind);
    return;
  }
  const Core& core = *tl_seat.at.mine();
  if (const Slot* slot = core.running; slot != nullptr) {
    name(line, pid_of(*slot), *slot->kind);
  } else {
    line << "the runtime, or a hook that it called, on its core number " << core.index
         << " of the process";
  }
}

const machine::Stack* running_stack() noexcept {
  if (const Worker* worker = left_behind(); worker != nullptr) return worker->away_stack;
  const Core* core = tl_seat.at.mine();
  return core != nullptr ? core->stack : nullptr;
}

bool tell(const Fault& fault) noexcept {
  SignalSafeText line;
  line << "bulkhead: ";
  if (fault.kind == FaultKind::kStackOverflow) {
    line << "stack overflow in ";
    name_actor(line);
    line << ", its stack has " << running_stack()->size()
         << " bytes: ask for more with SpawnOptions::stack_size or Config::stack_size";
  } else {
    line << machine::name_of_signal(fault.signal) << " in ";
    name_actor(line);
    if (fault.kind == FaultKind::kSent) {
      line << ", sent by somebody, not a fault of its own";
    } else if (fault.kind == FaultKind::kAccess) {
      line << ", at address ";
      line.hexadecimal(reinterpret_cast<std::uintptr_t>(fault.address));
    }
  }
  line.write_to_stderr();
  return false;
}

}  // namespace

void report_faults() { machine::watch_faults({&running_stack, &tell}); }

}  // namespace bulkhead::core
