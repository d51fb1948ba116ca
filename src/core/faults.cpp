#include "core/faults.hpp"

#include <cstdlib>
#include <cstring>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "machine/fault.hpp"

namespace bulkhead::core {

namespace {

using machine::Fault;
using machine::FaultKind;
using machine::SignalSafeText;

// In the signal handler, of the thread that faulted: what is read here is that thread's own (F2).
void name_actor(SignalSafeText& line, const Core& core) noexcept {
  const Slot* slot = core.running;
  if (slot == nullptr) {
    line << "the runtime, or a hook that it called, on its core number " << core.index
         << " of the process";
    return;
  }
  const Pid pid = pid_of(*slot);
  line << "actor <" << pid.index() << "." << pid.generation() << "> (";
  line.append(slot->kind->name.data(), slot->kind->name.size()) << ")";
}

const machine::Stack* running_stack() noexcept {
  return tl_core != nullptr ? tl_core->stack : nullptr;
}

bool tell(const Fault& fault) noexcept {
  const Core& core = *tl_core;
  SignalSafeText line;
  line << "bulkhead: ";
  if (fault.kind == FaultKind::kStackOverflow) {
    line << "stack overflow in ";
    name_actor(line, core);
    line << ", its stack has " << core.stack->size()
         << " bytes: ask for more with SpawnOptions::stack_size or Config::stack_size";
  } else {
    line << machine::name_of_signal(fault.signal) << " in ";
    name_actor(line, core);
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

void report_faults() {
  const char* wanted = std::getenv("BULKHEAD_FAULT_REPORTS");
  if (wanted != nullptr && std::strcmp(wanted, "0") == 0) return;
  machine::watch_faults({&running_stack, &tell});
}

}  // namespace bulkhead::core
