#include "wait/waiting.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "core/core.hpp"
#include "core/inside.hpp"

namespace bulkhead::wait {

using core::Core;
using core::Slot;

namespace {

// Inside, in which all that looks at it has to be.
Slot* running() noexcept {
  const Core* core = Core::current();
  return core != nullptr ? core->running : nullptr;
}

}  // namespace

void fail_in_use(const char* what, const std::string& use) noexcept {
  std::fprintf(stderr,
               "bulkhead: a %s was destroyed while %s. Declare it before the Runtime, or shut the "
               "runtime down before it goes out of scope.\n",
               what, use.c_str());
  std::abort();
}

void refuse_to_wait() {
  throw std::logic_error(
      "bulkhead: a hook, or the destructor of a message that is dropped, must not wait for a lock");
}

void Shield::engage() {
  const core::Inside inside;
  const Slot* slot = running();
  if (slot == nullptr || !slot->has(Slot::kUnwind)) return;
  if (!Core::may_unwind()) engage_anywhere();
}

void Shield::engage_anywhere() {
  const core::Inside inside;
  Slot* slot = running();
  if (slot == nullptr || !slot->has(Slot::kUnwind)) return;
  slot->clear(Slot::kUnwind);
  engaged_ = true;
}

Shield::~Shield() {
  if (!engaged_) return;
  const core::Inside inside;
  running()->set(Slot::kUnwind);
}

}  // namespace bulkhead::wait
