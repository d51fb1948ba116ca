#include "wait/waiting.hpp"

#include <exception>

#include "core/core.hpp"

namespace bulkhead::wait {

using core::Core;
using core::Slot;

namespace {

Slot* running() noexcept {
  const Core* core = Core::current();
  return core != nullptr ? core->running : nullptr;
}

}  // namespace

void Shield::engage() {
  const Slot* slot = running();
  if (slot == nullptr || !slot->has(Slot::kUnwind)) return;
  if (slot->has(Slot::kEnding) || std::uncaught_exceptions() > 0) engage_anywhere();
}

void Shield::engage_anywhere() {
  Slot* slot = running();
  if (slot == nullptr || !slot->has(Slot::kUnwind)) return;
  slot->clear(Slot::kUnwind);
  engaged_ = true;
}

Shield::~Shield() {
  if (engaged_) running()->set(Slot::kUnwind);
}

}  // namespace bulkhead::wait
