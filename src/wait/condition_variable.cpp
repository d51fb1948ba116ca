#include "bulkhead/condition_variable.hpp"

#include <new>
#include <stdexcept>

#include "wait/group_state.hpp"
#include "wait/waiting.hpp"

namespace bulkhead {

namespace {

using State = wait::GroupState<sync::RealSync, wait::Actors>;

State& state_of(std::byte* bytes) noexcept {
  return *std::launder(reinterpret_cast<State*>(bytes));
}

}  // namespace

static_assert(sizeof(State) <= sizeof(ConditionVariable));

ConditionVariable::ConditionVariable() noexcept { new (state_) State(1); }

ConditionVariable::~ConditionVariable() {
  State& state = state_of(state_);
  if (state.somebody_waits()) wait::fail_in_use("ConditionVariable", "somebody waits for it");
  state.~State();
}

std::int64_t ConditionVariable::begin(const Mutex::Guard& guard, Timeout timeout) {
  if (!guard) {
    throw std::logic_error("bulkhead: ConditionVariable::wait: the guard holds no mutex");
  }
  return machine::later(machine::now(), timeout.nanoseconds());
}

bool ConditionVariable::wait_once(Mutex::Guard& guard, std::int64_t due) {
  Mutex& mutex = *guard.mutex_;
  State& state = state_of(state_);
  // However the wait ends, the mutex is locked again.
  struct Relock {
    Mutex::Guard& guard;
    Mutex& mutex;
    bool unwound = true;
    ~Relock() {
      if (!unwound) return;
      try {
        static_cast<void>(again());
      } catch (...) {  // no memory to wait with: the guard holds nothing
      }
    }
    bool again() {
      if (guard.mutex_ != nullptr) return true;
      if (mutex.take(kDefaultLockTimeout) == 0) return false;
      guard.mutex_ = &mutex;
      return true;
    }
  } relock{guard, mutex};
  wait::WaitNode node;
  const bool notified = wait::wait_in_line(
      state, node, wait::Deadline::at(due),
      [&] {
        const bool waits = state.enter(node);
        if (guard.mutex_ != nullptr) {
          guard.mutex_ = nullptr;
          mutex.release(guard.holder_);
        }
        return waits;
      },
      [&] { state.notify_one(); });
  // A notification that its receiver cannot act on is the next one's.
  struct PassOn {
    State* state;
    ~PassOn() {
      if (state != nullptr) state->notify_one();
    }
  } pass_on{notified ? &state : nullptr};
  const bool locked = relock.again();
  relock.unwound = false;
  if (!locked) mutex.throw_timeout(kDefaultLockTimeout / std::chrono::nanoseconds(1));
  pass_on.state = nullptr;
  return notified;
}

void ConditionVariable::notify_one() noexcept { state_of(state_).notify_one(); }
void ConditionVariable::notify_all() noexcept { state_of(state_).notify_all(); }

}  // namespace bulkhead
