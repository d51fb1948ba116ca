#include "bulkhead/this_actor.hpp"

#include <stdexcept>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/slab.hpp"

namespace bulkhead {

namespace {

core::Slot& self(const char* function) {
  core::Core* core = core::Core::current();
  if (core == nullptr || core->running == nullptr) {
    throw std::logic_error(std::string("bulkhead: ") + function + " was called outside any actor");
  }
  return *core->running;
}

// On a core, but in a hook, or in the destructor of a message that is dropped.
bool must_not_wait() noexcept {
  const core::Core* core = core::Core::current();
  return core != nullptr && !core->may_wait();
}

Signal* deliver_stop(void* /*actor*/, Signal* signal) {
  core::Core::current()->running->set(core::Slot::kStopAsked);
  return signal;
}

void destroy_stop(Signal* /*signal*/, DropCause /*cause*/) {}

constexpr SignalOps kStop = {&deliver_stop, &destroy_stop, "stop"};

}  // namespace

namespace this_actor {

Pid pid() { return core::pid_of(self("this_actor::pid")); }

Pid parent() { return self("this_actor::parent").parent; }

void stop() { self("this_actor::stop").set(core::Slot::kStopAsked); }

void yield() {
  if (must_not_wait()) return;
  self("this_actor::yield");
  core::Core::yield();
  core::Core::check_unwind();
}

void sleep_for(Timeout time) {
  if (must_not_wait()) return;
  self("this_actor::sleep_for");
  const std::uint64_t epoch = core::Core::begin_wait();
  core::Core::park(epoch, time.nanoseconds());
}

std::size_t core() {
  self("this_actor::core");
  const core::Core* core = core::Core::current();
  return core->domain.load(std::memory_order_relaxed)->place_of(*core);
}

std::size_t stack_size() {
  self("this_actor::stack_size");
  return core::Core::current()->stack->size();
}

std::size_t stack_used() {
  self("this_actor::stack_used");
  return machine::touched_bytes(*core::Core::current()->stack);
}

void discard_unused_stack() {
  self("this_actor::discard_unused_stack");
  machine::discard_below(*core::Core::current()->stack, __builtin_frame_address(0));
}

}  // namespace this_actor

bool in_actor() noexcept {
  const core::Core* core = core::Core::current();
  return core != nullptr && core->running != nullptr;
}

Delivery stop(Pid actor) {
  const core::Admission admission =
      core::prepare_unbounded(actor, sizeof(Signal), core::block_class(sizeof(Signal)));
  if (admission.signal == nullptr) {
    core::count_refused(actor, admission.why, "stop");
    return admission.why;
  }
  core::commit(actor, admission.signal, &kStop);
  return Delivery::kQueued;
}

Delivery request_stop(Pid actor) { return core::request_stop(actor); }

}  // namespace bulkhead
