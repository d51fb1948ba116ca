#include "bulkhead/semaphore.hpp"

#include <new>
#include <stdexcept>
#include <string>

#include "wait/semaphore_state.hpp"
#include "wait/waiting.hpp"

namespace bulkhead {

namespace {

using State = wait::SemaphoreState<sync::RealSync, wait::Actors>;

State& state_of(std::byte* bytes) noexcept {
  return *std::launder(reinterpret_cast<State*>(bytes));
}

void refuse_count(const char* function, std::size_t count, std::size_t most) {
  throw std::invalid_argument("bulkhead: Semaphore::" + std::string(function) + ": " +
                              std::to_string(count) + " permits; it must be 1 to " +
                              std::to_string(most));
}

}  // namespace

static_assert(sizeof(State) <= sizeof(Semaphore));

Semaphore::Semaphore(std::size_t permits, std::size_t most) {
  if (most == 0 || most > kMost) {
    throw std::invalid_argument("bulkhead: Semaphore: at most " + std::to_string(most) +
                                " permits; it must be 1 to " + std::to_string(kMost));
  }
  if (permits > most) {
    throw std::invalid_argument("bulkhead: Semaphore: " + std::to_string(permits) +
                                " permits, but at most " + std::to_string(most));
  }
  new (state_) State(permits, most);
}

Semaphore::~Semaphore() {
  State& state = state_of(state_);
  // (Under its lock, at which who released last may still be.)
  if (state.somebody_waits()) wait::fail_in_use("Semaphore", "somebody waits for it");
  state.~State();
}

bool Semaphore::acquire_for(Timeout timeout, std::size_t count) {
  State& state = state_of(state_);
  if (count == 0 || count > state.most()) refuse_count("acquire", count, state.most());
  if (state.try_take(count)) return true;
  if (timeout.nanoseconds() == 0) return false;
  wait::WaitNode node;
  node.what = count;
  return wait::wait_in_line(
      state, node, wait::Deadline(timeout), [&] { return !state.enter(node); },
      [&] { static_cast<void>(state.give(count)); });
}

void Semaphore::release(std::size_t count) {
  State& state = state_of(state_);
  if (count == 0) refuse_count("release", count, state.most());
  if (!state.give(count)) {
    throw std::overflow_error("bulkhead: Semaphore::release: " + std::to_string(count) +
                              " permits more than were taken: there would be more than " +
                              std::to_string(state.most()));
  }
}

std::size_t Semaphore::available() const noexcept { return state_of(state_).permits(); }

}  // namespace bulkhead
