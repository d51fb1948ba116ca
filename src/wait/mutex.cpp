#include "bulkhead/mutex.hpp"

#include <new>
#include <stdexcept>
#include <string>

#include "core/belongings.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "memory/heap.hpp"
#include "wait/mutex_state.hpp"
#include "wait/waiting.hpp"

namespace bulkhead {

namespace {

using State = wait::MutexState<sync::RealSync, wait::Actors>;
using core::Core;
using core::Slot;

State& state_of(std::byte* bytes) noexcept {
  return *std::launder(reinterpret_cast<State*>(bytes));
}
const State& state_of(const std::byte* bytes) noexcept {
  return *std::launder(reinterpret_cast<const State*>(bytes));
}

// An actor is its slot; a thread outside is this variable of its own, marked.
constexpr wait::Holder kThread = 2;
alignas(64) thread_local constinit char this_thread = 0;

// An actor that comes home here is one, so that it needs no variable of a thread.
[[gnu::always_inline]] inline wait::Holder me() noexcept {
  const core::BrieflyInside inside;
  const Core* core = inside.core();
  if (core != nullptr && core->running != nullptr) [[likely]] {
    return reinterpret_cast<wait::Holder>(static_cast<core::Slot*>(core->running));
  }
  return reinterpret_cast<wait::Holder>(&this_thread) | kThread;
}

Pid pid_of_holder(wait::Holder holder) noexcept {
  if (holder == 0 || (holder & kThread) != 0) return {};
  const auto& slot = *reinterpret_cast<const Slot*>(holder);
  return {core::Slab::index_of(slot), slot.generation.load(std::memory_order_relaxed)};
}

std::string name_of(wait::Holder holder) {
  if (holder == 0) return "nobody any more";
  if ((holder & kThread) != 0) return "a thread outside";
  return "actor " + to_string(pid_of_holder(holder));
}

}  // namespace

static_assert(sizeof(State) <= sizeof(Mutex) && alignof(Mutex) % alignof(State) == 0);

Mutex::Mutex() noexcept { new (state_) State; }

Mutex::~Mutex() {
  State& state = state_of(state_);
  if (const wait::Holder holder = state.holder(); holder != 0) {
    wait::fail_in_use("Mutex", name_of(holder) + " holds it");
  }
  state.settle();
  state.~State();
}

namespace {

// One that an isolated actor holds, and lets go of when it traps: the mutex, and the holder. (One
// in its own memory goes with that.)
constexpr core::Belonging::Ops kHeld = {
    [](const core::Belonging& /*each*/) noexcept { return false; },
    [](const core::Belonging& each) noexcept {
      auto* state = reinterpret_cast<State*>(each.what[0]);
      if (memory::owner_of(state) == nullptr) state->release(each.what[1]);
    }};

std::uint64_t name_of(const State& state) noexcept {
  return reinterpret_cast<std::uint64_t>(&state);
}

}  // namespace

// Who holds it now, 0: time was up. Whether an isolated actor takes it is asked first: what follows
// may change threads.
std::uint64_t Mutex::take(Timeout timeout) {
  return core::may_have_owner() ? take_isolated(timeout) : take_anyhow(timeout);
}

[[gnu::always_inline]] inline std::uint64_t Mutex::take_anyhow(Timeout timeout) {
  const wait::Holder self = me();
  if (state_of(state_).try_take(self)) [[likely]]
    return self;
  return take_slowly(self, timeout);
}

[[gnu::noinline, gnu::cold]] std::uint64_t Mutex::take_isolated(Timeout timeout) {
  core::expect_belonging();
  const std::uint64_t holder = take_anyhow(timeout);
  if (holder != 0) core::belongs_to_caller({&kHeld, {name_of(state_of(state_)), holder, 0}});
  return holder;
}

std::uint64_t Mutex::take_slowly(std::uint64_t me, Timeout timeout) {
  State& state = state_of(state_);
  if (state.holder() == me) {
    throw std::logic_error(
        "bulkhead: Mutex: its holder locks it again, or tries to; a Mutex can be locked once");
  }
  if (timeout.nanoseconds() == 0) return 0;
  const wait::Deadline deadline(timeout);
  wait::WaitNode node;
  const bool taken = wait::wait_in_line(
      state, node, deadline, [&] { return state.enter(me, node) == wait::Entered::kWaits; },
      [&] { state.release(me); });
  return taken ? me : 0;
}

void Mutex::throw_timeout(std::int64_t waited) const {
  const wait::Holder holder = state_of(state_).holder();
  throw LockTimeout("bulkhead: a mutex could not be locked within " +
                        std::to_string(waited / 1'000'000) + " ms; it is held by " +
                        name_of(holder),
                    pid_of_holder(holder));
}

void Mutex::release(std::uint64_t holder) noexcept {
  if (core::may_have_owner()) [[unlikely]]
    return release_isolated(holder);
  state_of(state_).release(holder);
}

[[gnu::noinline, gnu::cold]] void Mutex::release_isolated(std::uint64_t holder) noexcept {
  State& state = state_of(state_);
  core::forget_of_caller(kHeld, name_of(state));
  state.release(holder);
}

void Mutex::Guard::unlock() {
  if (mutex_ == nullptr) {
    throw std::logic_error("bulkhead: Mutex::Guard::unlock: it holds no mutex (any more)");
  }
  let_go();
  mutex_ = nullptr;
}

}  // namespace bulkhead
