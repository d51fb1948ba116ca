#include "bulkhead/wait.hpp"

#include "core/core.hpp"
#include "core/guest.hpp"

namespace bulkhead::core {

bool claim(const Waiter& waiter) noexcept { return waiter.slot->wait.claim(waiter.epoch); }

void wake(const Waiter& waiter) noexcept { wake(*waiter.slot); }

// On a core where nothing may wait a guest's wait stands for one that is over at once: its slot may
// be claimed by whoever comes to know of it, as any other.
void Wait::open() {
  const Core* core = Core::current();
  if (core == nullptr || !core->may_wait()) [[unlikely]] {
    Guest& guest = Guest::take();
    open_ = Open::kGuests;
    waiter_ = {&guest.slot(), guest.begin_wait()};
    return;
  }
  const std::uint64_t epoch = Core::begin_wait();
  waiter_ = {core->running, epoch};
  open_ = Open::kActors;
}

bool Wait::outside() noexcept { return Core::current() == nullptr; }

// Also of an actor's wait that nobody has parked in, nor retired: nobody knows of it.
void Wait::close() noexcept {
  if (open_ == Open::kGuests) {
    Guest::give(Guest::of(*waiter_.slot));
  } else {
    static_cast<void>(Core::retire_wait(waiter_.epoch));
  }
}

bool Wait::retire() noexcept {
  if (open_ == Open::kGuests) return claim(waiter_);
  if (!Core::retire_wait(waiter_.epoch)) return false;
  open_ = Open::kNo;
  return true;
}

void Wait::park(Timeout timeout) {
  if (open_ == Open::kGuests) [[unlikely]] {
    Guest::of(*waiter_.slot).park(waiter_.epoch, outside() ? timeout.nanoseconds() : 0);
  } else {
    open_ = Open::kNo;
    Core::park(waiter_.epoch, timeout.nanoseconds());
  }
}

bool Wait::ending() noexcept {
  const Core* core = Core::current();
  return core != nullptr && (!core->may_wait() || core->running->has(Slot::kUnwind));
}

}  // namespace bulkhead::core
