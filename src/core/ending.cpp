// The end of an actor.
#include <memory>
#include <utility>

#include "bulkhead/join.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/reporter.hpp"
#include "core/requests.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

Pid pid_of(const Slot& slot) noexcept {
  const std::uint32_t generation = slot.generation.load(std::memory_order_relaxed);
  return Pid(Slab::index_of(slot), slot.has(Slot::kEnding) ? generation - 1 : generation);
}

namespace {

// To the log; or to whoever may join the actor, and is told then: who lets that go has it told.
void report_crash(std::unique_ptr<Told> told, Joint* joint, const ActorClass& kind) noexcept {
  Reporter& reporter = Core::current()->domain.load(std::memory_order_relaxed)->reporter;
  if (joint != nullptr) {
    joint->crash = told.release();
  } else if (kind.joint != nullptr) {
    reporter.put_late(std::move(told));
  } else {
    reporter.put(std::move(told));
  }
}

}  // namespace

// Carries an exit out, in the context of the ending actor: its destructor may send, and even block.
// What the actor did in its last activation is counted at the very end, so that nobody finds the
// runtime idle before.
void Core::finish(Slot& slot, Exit exit, Settled&& settled) {
  const Pid pid = pid_of(slot);
  const ActorClass& kind = *slot.kind;
  std::shared_ptr<Joint> joint;
  if (kind.joint != nullptr) [[unlikely]]
    joint = kind.joint(slot.state);
  std::unique_ptr<Told> told(settled.told);
  if (is_crash(exit) && told == nullptr) [[unlikely]]
    told = describe(slot, exit, settled);
  current()->stack->exit = &exit;  // for those who asked it
  if (slot.isolated()) [[unlikely]] {
    if (!settled.trapped) destroy_isolated(slot, told, settled);
    if (restart_in_place(slot, exit, settled, told)) return;
  }
  slot.set(Slot::kEnding);
  Bond* untold = nullptr;
  if (slot.extras != nullptr) {
    untold = leave_all(slot, exit);
    leave_what_others_know(slot, *current());
  }
  slot.lives = false;
  // From here on nobody reaches it any more.
  const std::uint32_t next = pid.generation() + 1;
  slot.generation.store(next, std::memory_order_release);
  Core* core = current();
  machine::Stack& me = *core->stack;  // it stays on this one
  if (!slot.isolated()) [[likely]] {
    me.crash = told != nullptr ? told->crash.get() : nullptr;
    core->leave();
    kind.destroy(slot.state);
    if (joint.use_count() == 1) joint.reset();  // nobody joins it: what it returned goes now
    core = come_inside();
    me.crash = nullptr;
  }
  if (told != nullptr) [[unlikely]]
    report_crash(std::move(told), joint.get(), kind);
  if (joint != nullptr) joint->exit = exit;
  if (!slot.isolated()) [[likely]]  // else it goes with its heap
    core->release_block(slot.state, slot.state_pool, slot.state_class);
  slot.state = nullptr;
  while (slot.oldest != nullptr) {
    Signal* signal = slot.pop();
    core->drop(signal, pid, DropCause::kGone);
    core = current();
  }
  if (slot.inbox.has_mail()) [[unlikely]]
    core = core->drop_mail(slot);  // while those who ask can learn the exit
  if (slot.extras != nullptr) {
    if (is_sentenced(slot)) ++settled.handled;
    discard_extras(slot, *core);
  }
  me.exit = nullptr;
  tell_all(*core, untold);
  if (slot.has(Slot::kTimeoutArmed)) core->disarm_timeout(slot);
  const std::uint32_t timeouts = slot.has(Slot::kTimeoutDue) ? 1 : 0;
  if (slot.has(Slot::kStartPending)) ++settled.handled;
  if (core->trace != nullptr) [[unlikely]]
    core->trace->exits(slot, pid, exit.kind());
  core->running = nullptr;
  slot.turn = Turn::kVacant;
  slot.flags = 0;
  if (exit.kind() == Exit::Kind::kPanic) core->counts.failed.raise();
  if (exit.kind() == Exit::Kind::kTrapped) core->counts.trapped.raise();
  Domain& domain = *core->domain.load(std::memory_order_relaxed);
  domain.announce_death(Death{pid, kind.name, exit});
  if (exit.kind() == Exit::Kind::kPanic) [[unlikely]]
    exit = Exit();  // the destructor of its exception may send
  if (core->roamer_ == &slot) [[unlikely]]
    core->put_down(slot);
  if (next != 0) core->give_slot(slot);  // a spent slot is never used again
  if (core->solo) domain.solo_is_vacant(*core);
  core->counts.ended.raise();
  core->counts.timeouts_ended.raise(timeouts);
  core->counts.dropped_sent.raise(settled.dropped);
  core->counts.handled.raise(settled.handled);
  if (joint != nullptr) joint->alive.done();
}

}  // namespace bulkhead::core
