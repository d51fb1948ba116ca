#include "bulkhead/wait.hpp"

#include "core/core.hpp"
#include "core/guest.hpp"

namespace bulkhead::core {

bool claim(const Waiter& waiter) noexcept { return waiter.slot->wait.claim(waiter.epoch); }

void wake(const Waiter& waiter) noexcept { wake(*waiter.slot); }

void Wait::open() {
  const BrieflyInside inside;
  const Core* core = inside.core();
  guest_ = core == nullptr || core->running == nullptr;
  if (guest_) [[unlikely]] {
    Guest& guest = Guest::take();
    waiter_ = {&guest.slot(), guest.begin_wait()};
    return;
  }
  const std::uint64_t epoch = Core::begin_wait();
  waiter_ = {core->running, epoch};
}

void Wait::close() noexcept { Guest::give(Guest::of(*waiter_.slot)); }

void Wait::park(Timeout timeout) {
  const Inside inside;
  if (guest_) [[unlikely]] {
    Guest::of(*waiter_.slot).park(waiter_.epoch, timeout.nanoseconds());
  } else {
    Core::park(waiter_.epoch, timeout.nanoseconds());
  }
}

bool Wait::ending() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  return core != nullptr && core->running != nullptr && core->running->has(Slot::kUnwind);
}

}  // namespace bulkhead::core
