#include "core/guest.hpp"

#include <new>

#include "core/slab.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::core {

namespace {
sync::Mutex& guests_lock() {
  static auto* lock = new sync::Mutex;
  return *lock;
}
Guest* free_guests = nullptr;  // under guests_lock
}  // namespace

Guest& Guest::take() {
  {
    sync::Guard guard(guests_lock());
    if (Guest* guest = free_guests; guest != nullptr) {
      free_guests = guest->next_;
      return *guest;
    }
  }
  auto* guest = new Guest;
  guest->slot_ = Slab::process().take_unused();
  if (guest->slot_ == nullptr) {
    delete guest;
    throw std::bad_alloc();
  }
  guest->slot_->state = guest;
  guest->slot_->home.store(kGuestHome, std::memory_order_release);
  return *guest;
}

void Guest::give(Guest& guest) noexcept {
  sync::Guard guard(guests_lock());
  guest.next_ = free_guests;
  free_guests = &guest;
}

void Guest::park(std::uint64_t epoch, machine::Nanoseconds timeout) noexcept {
  if (timeout == machine::kNever) {
    parker_.park();
    return;
  }
  const machine::Nanoseconds due = machine::later(machine::now(), timeout);
  for (machine::Nanoseconds left = timeout; left > 0; left = due - machine::now()) {
    if (parker_.park_for(left) == sync::Parked::kToken) return;
  }
  // Time is up. If somebody has claimed the wait all the same, their token is on its way.
  if (!slot_->wait.claim(epoch)) parker_.park();
}

void unpark_guest(Slot& slot) noexcept { static_cast<Guest*>(slot.state)->parker_.unpark(); }

}  // namespace bulkhead::core
