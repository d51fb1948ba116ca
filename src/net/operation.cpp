#include "net/operation.hpp"

#include <stdexcept>
#include <string>

#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::net {

void require_actor(const char* function) {
  const core::BrieflyInside inside;
  // (In a hook on a core nothing waits: an operation that would is cancelled.)
  if (inside.core() == nullptr) {
    throw std::logic_error(std::string("bulkhead: ") + function +
                           " was called outside any actor (what blocking() runs is outside, too)");
  }
}

Operation::Operation(const Descriptor& descriptor, Direction direction, const char* function)
    : generation_(descriptor.generation()), direction_(direction) {
  require_actor(function);
  if (descriptor.number() < 0) return;
  Entry& entry = entry_at(descriptor.number());
  const Look look = entry.readiness.enter(direction, generation_);
  if (look.access == Access::kOpen) {
    entry_ = &entry;
    ready_ = look.ready;
    refused_ = 0;
  } else if (look.access == Access::kBusy) {
    refused_ = EBUSY;
  }
}

Operation::~Operation() {
  if (entry_ == nullptr) return;
  if (entry_->readiness.leave(direction_, generation_, ready_) == Left::kMustClose) {
    entry_->close_now();
  }
}

int Operation::take(Look look) noexcept {
  ready_ = look.ready;
  return look.access == Access::kOpen ? 0 : EBADF;
}

// Returns 0 when it may be ready.
int Operation::wait(Timeout timeout) {
  ready_ = 0;
  if (timeout.nanoseconds() == 0) return ETIMEDOUT;
  machine::Nanoseconds left = machine::kNever;
  if (!timeout.is_forever()) {
    const machine::Nanoseconds now = machine::now();
    if (deadline_ == 0) deadline_ = machine::later(now, timeout.nanoseconds());
    left = deadline_ - now;
  }
  for (;;) {
    if (left <= 0) return ETIMEDOUT;
    if (const int error = park(left); error != 0) return error;
    if (ready_ != 0) return 0;
    if (left != machine::kNever) left = deadline_ - machine::now();
  }
}

// Waits once. Whatever ends the wait, a timer, a report, a close or a stop, the word tells
// afterwards.
int Operation::park(machine::Nanoseconds timeout) {
  const core::Inside inside;
  const auto& readiness = entry_->readiness;
  const Direction other = direction_ == Direction::kRead ? Direction::kWrite : Direction::kRead;
  const bool others_wait = readiness.awaited(other) || readiness.watched();
  if (const int error = entry_->register_here(others_wait); error != 0) {
    entry_->not_registered();
    return error;
  }
  if (!core::Core::current()->may_wait()) return ECANCELED;
  std::uint64_t epoch = 0;
  try {
    epoch = core::Core::begin_wait();
  } catch (const std::logic_error&) {
    throw;  // where it must not block
  } catch (const std::exception&) {
    return ENOMEM;  // for a stack to go on with
  }
  core::Slot& slot = *core::Core::current()->running;
  struct Announcement {
    Operation* operation;
    Waiter waiter;
    ~Announcement() { operation->entry_->readiness.withdraw(operation->direction_, waiter); }
  } announcement{this, {core::Slab::index_of(slot), epoch}};
  const Look look = entry_->readiness.announce(direction_, generation_, announcement.waiter);
  if (look.access == Access::kOpen && look.ready == 0) {
    core::Core::park(epoch, timeout, core::WaitsFor::kNetwork);
    if (slot.has(core::Slot::kUnwind)) return ECANCELED;  // in a destructor: it could not be thrown
    return take(entry_->readiness.look(direction_, generation_));
  }
  // Nothing to wait for. If somebody has claimed the wait already, their wake-up must be awaited.
  if (!core::Core::retire_wait(epoch)) {
    core::Core::park(epoch, machine::kNever, core::WaitsFor::kNetwork);
  }
  return take(look);
}

}  // namespace bulkhead::net
