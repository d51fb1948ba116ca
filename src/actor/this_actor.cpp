#include "bulkhead/this_actor.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/critical.hpp"
#include "bulkhead/stop_token.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead {

namespace {

[[noreturn]] void refuse_outside(const char* function) {
  throw std::logic_error(std::string("bulkhead: ") + function +
                         " was called outside any actor (what blocking() runs is outside, too)");
}

core::Slot& self(const core::Core* core, const char* function) {
  if (core == nullptr || core->running == nullptr) refuse_outside(function);
  return *core->running;
}

// Not in a hook of a core, nor in the destructor of a message that is dropped there.
bool may_wait(const char* function) {
  const core::Core* core = core::Core::current();
  if (core == nullptr) refuse_outside(function);
  return core->may_wait();
}

[[noreturn]] void refuse_address(const core::Slot& running, const std::string& what) {
  throw std::logic_error("bulkhead: this_actor::address was " + what +
                         ", but the actor that runs is " + to_string(core::pid_of(running)) + " (" +
                         std::string(running.kind->name) +
                         "). In a constructor its spawner still runs: do in started() what needs "
                         "the new actor's address");
}

Signal* deliver_stop(void* /*actor*/, Signal* signal) {
  const core::BrieflyInside inside;
  inside.core()->running->set(core::Slot::kStopAsked);
  return signal;
}

void destroy_stop(Signal* /*signal*/, DropCause /*cause*/) {}

constexpr SignalOps kStop = {&deliver_stop, &destroy_stop, "stop"};

}  // namespace

namespace core {

Pid own_pid(const void* self) {
  const BrieflyInside inside;
  const Slot& running = bulkhead::self(inside.core(), "this_actor::address");
  if (running.state != self) refuse_address(running, "given another object");
  return pid_of(running);
}

Pid own_pid(std::string_view actor_class) {
  const BrieflyInside inside;
  const Slot& running = bulkhead::self(inside.core(), "this_actor::address");
  if (running.kind->name != actor_class)
    refuse_address(running, "asked for one of class " + std::string(actor_class));
  return pid_of(running);
}

void* own_object(std::string_view actor_class) noexcept {
  const BrieflyInside inside;
  const Slot* running = inside.core() != nullptr ? inside.core()->running : nullptr;
  return running != nullptr && running->kind->name == actor_class ? running->state : nullptr;
}

}  // namespace core

namespace this_actor {

Pid pid() {
  const core::BrieflyInside inside;
  return core::pid_of(self(inside.core(), "this_actor::pid"));
}

Pid parent() {
  const core::BrieflyInside inside;
  return self(inside.core(), "this_actor::parent").parent;
}

namespace {

core::Rare& own_rare(const char* function) {
  core::Core* core = core::Core::current();
  return core::rare_of(self(core, function), *core);
}

}  // namespace

void set_label(std::string_view label) {
  constexpr std::size_t kLongest = 255;
  if (label.size() > kLongest) {
    throw std::invalid_argument("bulkhead: this_actor::set_label was given " +
                                std::to_string(label.size()) + " bytes; a label has 255 at most");
  }
  const core::Inside inside;
  core::Core* core = core::Core::current();
  core::Slot& slot = self(core, "this_actor::set_label");
  std::string fresh(label);
  core::notes_of(slot, *core).label = std::move(fresh);
}

std::string label() {
  const core::Inside inside;
  const core::Slot& slot = self(core::Core::current(), "this_actor::label");
  const core::Rare* rare = slot.extras != nullptr ? slot.extras->rare : nullptr;
  return rare != nullptr && rare->notes != nullptr ? rare->notes->label : std::string();
}

RestartScope::RestartScope(std::uint32_t restarts) {
  const core::Inside inside;
  before_ = std::exchange(own_rare("this_actor::RestartScope").child_restarts, restarts);
}

RestartScope::~RestartScope() {
  const core::Inside inside;
  own_rare("this_actor::RestartScope").child_restarts = before_;
}

void stop() {
  const core::BrieflyInside inside;
  self(inside.core(), "this_actor::stop").set(core::Slot::kStopAsked);
}

void yield() {
  core::BrieflyInside inside;
  if (inside.core() == nullptr) refuse_outside("this_actor::yield");
  if (!inside.core()->may_wait()) return;
  if (base::critical != nullptr) core::refuse_to_block();
  inside.goes_on_on(core::Core::yield());
  if (inside.core()->running->has(core::Slot::kUnwind)) core::Core::check_unwind();
}

void sleep_for(Timeout time) {
  const core::Inside inside;
  if (!may_wait("this_actor::sleep_for")) return;
  const std::uint64_t epoch = core::Core::begin_wait();
  core::Core::park(epoch, time.nanoseconds(), core::WaitsFor::kTime);
}

std::stop_token stop_token() {
  const core::Inside inside;  // not briefly: what takes memory may be made to give way
  core::Core* core = core::Core::current();
  core::Slot& slot = self(core, "this_actor::stop_token");
  core::Rare& rare = core::rare_of(slot, *core);
  if (rare.stop == nullptr) rare.stop = new sync::StopSource;
  return rare.stop->get_token();
}

std::size_t core() {
  const core::BrieflyInside inside;
  self(inside.core(), "this_actor::core");
  return inside.core()->place;
}

std::size_t stack_size() {
  const core::BrieflyInside inside;
  self(inside.core(), "this_actor::stack_size");
  return inside.core()->stack->size();
}

std::size_t stack_used() {
  const core::BrieflyInside inside;
  self(inside.core(), "this_actor::stack_used");
  return machine::touched_bytes(*inside.core()->stack);
}

void discard_unused_stack() {
  const core::BrieflyInside inside;
  self(inside.core(), "this_actor::discard_unused_stack");
  machine::discard_below(*inside.core()->stack, __builtin_frame_address(0));
}

}  // namespace this_actor

bool in_actor() noexcept {
  const core::BrieflyInside inside;
  const core::Core* core = inside.core();
  return core != nullptr && core->running != nullptr;
}

Delivery stop(Pid actor) {
  const core::Admission admission = core::prepare_unbounded(
      actor, sizeof(Signal), core::block_class(sizeof(Signal)), core::Stays::kAsItIs);
  if (admission.signal == nullptr) {
    core::count_refused(actor, admission.why, "stop");
    return admission.why;
  }
  core::commit(actor, admission.signal, &kStop);
  return Delivery::kQueued;
}

Delivery request_stop(Pid actor) { return core::request_stop(actor); }

}  // namespace bulkhead
