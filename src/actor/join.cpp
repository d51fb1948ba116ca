#include "bulkhead/join.hpp"

#include <stdexcept>

#include "bulkhead/wait.hpp"
#include "core/core.hpp"
#include "sync/lock.hpp"

namespace bulkhead::core {

// Under the lock: whether the actor has ended, and who waits for that. The exit is written before.
struct Joint::State {
  sync::Lock<sync::RealSync> lock;
  sync::RealSync::atomic<int> owners{2};   // of the joint
  sync::RealSync::atomic<int> holders{1};  // of the state: the joint, and the actor while it ends
  bool ended = false;
  Exit exit;
  Waiter waiter;

  void release() noexcept {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

Joint::Joint() : state_(new State) {}

// What is left of the actor goes now, not when the state goes.
Joint::~Joint() {
  state_->exit = Exit();
  state_->release();
}

const Exit& Joint::exit() const noexcept { return state_->exit; }

bool Joint::is_awaited() const noexcept {
  return state_->owners.load(std::memory_order_relaxed) > 1;
}

void Joint::release() noexcept {
  if (state_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete this;  // [pair joint.owners]
}

Joint::State* Joint::let_go(const Exit& exit) noexcept {
  State* state = state_;
  state->exit = exit;
  state->holders.fetch_add(1, std::memory_order_relaxed);
  release();
  return state;
}

void Joint::end(State& state) noexcept {
  state.lock.lock();
  state.ended = true;
  const Waiter waiter = state.waiter;
  const bool claimed = waiter.slot != nullptr && claim(waiter);
  state.lock.unlock();
  if (claimed) wake(waiter);
  state.release();
}

bool Joint::wait(Timeout timeout) {
  if (!announce(Waiter())) return true;
  Wait wait;
  if (!announce(wait.waiter())) return true;
  // Whatever ends the wait, nobody is to claim it afterwards.
  struct Withdraw {
    Joint& joint;
    ~Withdraw() { static_cast<void>(joint.announce(Waiter())); }
  } withdraw{*this};
  wait.park(timeout);
  return !announce(Waiter());
}

// False when the actor has ended: then there is nothing to wait for.
bool Joint::announce(const Waiter& waiter) noexcept {
  state_->lock.lock();
  const bool lives = !state_->ended;
  state_->waiter = waiter;
  state_->lock.unlock();
  return lives;
}

void refuse_join(bool joinable) {
  throw std::logic_error(joinable ? "bulkhead: an actor cannot join itself"
                                  : "bulkhead: join: the handle stands for no actor, or the actor "
                                    "was joined already");
}

}  // namespace bulkhead::core
