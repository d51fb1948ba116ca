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

Signal* deliver_stop(void* /*actor*/, Signal* signal) {
  const core::Inside inside;
  core::Core::current()->running->set(core::Slot::kStopAsked);
  return signal;
}

void destroy_stop(Signal* /*signal*/, DropCause /*cause*/) {}

constexpr SignalOps kStop = {&deliver_stop, &destroy_stop, "stop"};

}  // namespace

namespace this_actor {

Pid pid() {
  const core::Inside inside;
  return core::pid_of(self("this_actor::pid"));
}

Pid parent() {
  const core::Inside inside;
  return self("this_actor::parent").parent;
}

void stop() {
  const core::Inside inside;
  self("this_actor::stop").set(core::Slot::kStopAsked);
}

void yield() {
  const core::Inside inside;
  self("this_actor::yield");
  core::Core::yield();
  core::Core::check_unwind();
}

void sleep_for(Timeout time) {
  const core::Inside inside;
  self("this_actor::sleep_for");
  const std::uint64_t epoch = core::Core::begin_wait();
  core::Core::park(epoch, time.nanoseconds());
}

std::size_t core() {
  const core::Inside inside;
  self("this_actor::core");
  const core::Core* core = core::Core::current();
  return core->domain.load(std::memory_order_relaxed)->place_of(*core);
}

}  // namespace this_actor

bool in_actor() noexcept {
  const core::Inside inside;
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

}  // namespace bulkhead
