#include "bulkhead/wait_group.hpp"

#include <new>
#include <stdexcept>
#include <string>

#include "wait/group_state.hpp"
#include "wait/waiting.hpp"

namespace bulkhead {

namespace {

using State = wait::GroupState<sync::RealSync, wait::Actors>;

State& state_of(std::byte* bytes) noexcept {
  return *std::launder(reinterpret_cast<State*>(bytes));
}

[[noreturn]] void refuse_overflow(std::size_t count) {
  throw std::overflow_error("bulkhead: WaitGroup: the count would be more than " +
                            std::to_string(WaitGroup::kMost) + " by adding " +
                            std::to_string(count));
}

}  // namespace

static_assert(sizeof(State) <= sizeof(WaitGroup));

WaitGroup::WaitGroup(std::size_t count) {
  if (count > kMost) refuse_overflow(count);
  new (state_) State(count);
}

WaitGroup::~WaitGroup() {
  State& state = state_of(state_);
  if (state.somebody_waits()) wait::fail_in_use("WaitGroup", "somebody waits for it");
  state.~State();
}

void WaitGroup::add(std::size_t count) {
  if (!state_of(state_).add(count, kMost)) refuse_overflow(count);
}

void WaitGroup::done(std::size_t count) {
  if (!state_of(state_).subtract(count)) {
    throw std::logic_error(
        "bulkhead: WaitGroup::done: more was done than was added: the count "
        "would be less than zero");
  }
}

bool WaitGroup::wait_for(Timeout timeout) {
  State& state = state_of(state_);
  if (state.count() == 0) return true;
  if (timeout.nanoseconds() == 0) return false;
  wait::WaitNode node;
  return wait::wait_in_line(
      state, node, wait::Deadline(timeout), [&] { return state.enter(node); }, [] {});
}

std::size_t WaitGroup::count() const noexcept { return state_of(state_).count(); }

}  // namespace bulkhead
