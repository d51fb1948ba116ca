#include "bulkhead/cancellation_scope.hpp"

#include <new>
#include <stdexcept>

#include "bulkhead/this_actor.hpp"
#include "bulkhead/wait_group.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"
#include "sync/lock.hpp"
#include "wait/waiting.hpp"

namespace bulkhead {

struct CancellationScope::State {
  WaitGroup running;
  sync::Lock<sync::RealSync> lock;  // for what follows, and for the members
  bool cancelled = false;
  core::ScopeMember* begun = nullptr;  // and not told to stop
  std::exception_ptr failure;
  Pid owner;

  void add(core::ScopeMember& member) noexcept {
    member.next_ = begun;
    if (begun != nullptr) begun->prev_ = &member;
    begun = &member;
    member.linked_ = true;
  }
  void remove(core::ScopeMember& member) noexcept {
    if (!member.linked_) return;
    (member.prev_ != nullptr ? member.prev_->next_ : begun) = member.next_;
    if (member.next_ != nullptr) member.next_->prev_ = member.prev_;
    member.linked_ = false;
  }
};

CancellationScope::State& CancellationScope::state() const noexcept {
  return *std::launder(reinterpret_cast<State*>(state_));
}

CancellationScope::CancellationScope() : exceptions_(std::uncaught_exceptions()) {
  static_assert(sizeof(State) <= sizeof state_ && alignof(State) <= 8);
  core::check_shares("CancellationScope", "spawn its children linked to it, or monitor them");
  const core::BrieflyInside inside;
  const core::Core* core = inside.core();
  if (core == nullptr || !core->may_wait()) {  // its end waits
    throw std::logic_error("bulkhead: CancellationScope: only actors have children");
  }
  new (state_) State;
  state().owner = core::pid_of(*core->running);
}

// A stop that comes while it waits takes effect afterwards, at the owner's next wait.
CancellationScope::~CancellationScope() {
  State& mine = state();
  if (std::uncaught_exceptions() > exceptions_ || core::Wait::ending()) cancel();
  wait::Shield shield;
  for (bool done = false; !done;) {
    shield.engage_anywhere();
    try {
      done = mine.running.wait_for(kForever);
    } catch (const Unwind&) {
      cancel();
    } catch (const std::exception&) {
      const core::Inside inside;
      core::Core::yield();  // no memory to wait with; they have to end all the same
    }
  }
  mine.~State();
}

// Those that have not begun find out when they do.
void CancellationScope::cancel() {
  State& mine = state();
  const Pid self = this_actor::pid();
  for (;;) {
    Pid child;
    mine.lock.lock();
    mine.cancelled = true;
    core::ScopeMember* member = mine.begun;
    if (member != nullptr && member->pid_ == self) member = member->next_;
    if (member != nullptr) {
      child = member->pid_;
      mine.remove(*member);
    }
    mine.lock.unlock();
    if (!child) return;
    static_cast<void>(request_stop(child));
  }
}

bool CancellationScope::cancelled() const noexcept {
  State& mine = state();
  mine.lock.lock();
  const bool cancelled = mine.cancelled;
  mine.lock.unlock();
  return cancelled;
}

namespace core {

ScopeMember::ScopeMember(CancellationScope& scope) : scope_(scope) { scope_.state().running.add(); }

ScopeMember::~ScopeMember() {
  CancellationScope::State& all = scope_.state();
  all.lock.lock();
  all.remove(*this);
  all.lock.unlock();
  all.running.done();  // last: the scope may be gone now
}

bool ScopeMember::begin() {
  CancellationScope::State& all = scope_.state();
  pid_ = this_actor::pid();
  all.lock.lock();
  const bool begins = !all.cancelled;
  if (begins) all.add(*this);
  all.lock.unlock();
  return begins;
}

void ScopeMember::failed() noexcept {
  {
    CancellationScope::State& all = scope_.state();
    std::exception_ptr failure = std::current_exception();
    all.lock.lock();
    if (!all.failure) all.failure.swap(failure);
    all.lock.unlock();
  }
  scope_.cancel();
}

}  // namespace core

// A child has no reason to wait for its scope, and would wait for itself.
void CancellationScope::refuse_a_child() const {
  if (!in_actor()) return;
  State& mine = state();
  const Pid self = this_actor::pid();
  if (self == mine.owner) return;
  mine.lock.lock();
  const core::ScopeMember* member = mine.begun;
  while (member != nullptr && member->pid_ != self) member = member->next_;
  mine.lock.unlock();
  if (member == nullptr) return;
  throw std::logic_error(
      "bulkhead: CancellationScope::wait was called by a child of the scope: it would wait for "
      "itself");
}

bool CancellationScope::wait_for(Timeout timeout) {
  refuse_a_child();
  State& mine = state();
  if (!mine.running.wait_for(timeout)) return false;
  mine.lock.lock();
  const std::exception_ptr failure = std::exchange(mine.failure, nullptr);
  mine.lock.unlock();
  if (failure) std::rethrow_exception(failure);
  return true;
}

}  // namespace bulkhead
