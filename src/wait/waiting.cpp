#include "wait/waiting.hpp"

#include <exception>

#include "core/core.hpp"

namespace bulkhead::wait {

using core::Core;
using core::Slot;

void Shield::engage() {
  const Core* core = Core::current();
  if (core == nullptr || core->running == nullptr) return;
  Slot& slot = *core->running;
  if (!slot.has(Slot::kUnwind)) return;
  if (!slot.has(Slot::kEnding) && std::uncaught_exceptions() == 0) return;
  slot.clear(Slot::kUnwind);
  engaged_ = true;
}

void Shield::disengage() noexcept { Core::current()->running->set(Slot::kUnwind); }

}  // namespace bulkhead::wait
