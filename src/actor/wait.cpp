#include "bulkhead/wait.hpp"

#include "core/core.hpp"
#include "core/guest.hpp"
#include "core/inside.hpp"

namespace bulkhead::core {

bool claim(const Waiter& waiter) noexcept { return waiter.slot->wait.claim(waiter.epoch); }

void wake(const Waiter& waiter) noexcept { wake(*waiter.slot); }

// An actor stays inside from here until it parks, or gives the wait up: so its core is not left to
// another thread in between. On a core where nothing may wait a guest's wait stands for one that is
// over at once: its slot may be claimed by whoever comes to know of it, as any other.
void Wait::open() {
  was_inside_ = was_inside();
  Core* core = enter();
  if (core == nullptr || !core->may_wait()) [[unlikely]] {
    if (core != nullptr) core->leave(was_inside_);
    Guest& guest = Guest::take();
    open_ = Open::kGuests;
    waiter_ = {&guest.slot(), guest.begin_wait()};
    return;
  }
  try {
    waiter_.epoch = Core::begin_wait();
  } catch (...) {
    core->leave(was_inside_);
    throw;
  }
  waiter_.slot = core->running;
  open_ = Open::kActors;
}

bool Wait::outside() noexcept { return tl_seat.worker == nullptr && tl_seat.at.mine() == nullptr; }

// Also of an actor's wait that nobody has parked in, nor retired: nobody knows of it.
void Wait::close() noexcept {
  if (open_ == Open::kGuests) {
    Guest::give(Guest::of(*waiter_.slot));
  } else {
    static_cast<void>(Core::retire_wait(waiter_.epoch));
    end(*Core::current());
  }
}

void Wait::end(Core& core) noexcept {
  open_ = Open::kNo;
  core.leave(was_inside_);
}

bool Wait::retire() noexcept {
  if (open_ == Open::kGuests) return claim(waiter_);
  if (!Core::retire_wait(waiter_.epoch)) return false;
  end(*Core::current());
  return true;
}

void Wait::park(Timeout timeout, WaitsFor what) {
  if (open_ == Open::kGuests) [[unlikely]] {
    Guest::of(*waiter_.slot).park(waiter_.epoch, outside() ? timeout.nanoseconds() : 0);
    return;
  }
  struct Unwound {
    Wait* wait;
    ~Unwound() {
      if (wait != nullptr) wait->end(*Core::current());
    }
  } unwound{this};
  Core* core = Core::park(waiter_.epoch, timeout.nanoseconds(), what);
  unwound.wait = nullptr;
  end(*core);
}

bool Wait::ending() noexcept {
  const BrieflyInside inside;
  const Core* core = inside.core();
  return core != nullptr && (!core->may_wait() || core->running->has(Slot::kUnwind));
}

}  // namespace bulkhead::core
