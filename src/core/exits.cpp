// Exits: signals that end actors, or become messages in those that trap them.
#include <new>
#include <utility>

#include "base/critical.hpp"
#include "bulkhead/handler.hpp"
#include "core/bond.hpp"
#include "core/compartment.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/reporter.hpp"

namespace bulkhead::core {

const SignalOps kSpentExit = {nullptr, &handler::destroy<Exited>, "exit"};

Signal* queue_heard(Slot& slot, Signal* signal, const SignalOps* ops, std::uint8_t flags) noexcept {
  signal->ops = ops;
  signal->flags = flags;
  if (ops->priority == Priority::kOrdinary) {
    slot.append(signal);
  } else {
    signal->flags |= Signal::kFirst;
    file(slot, signal, *Core::current());
  }
  return nullptr;
}

namespace {

// For its crash report; without memory it is not told.
void note_sender(Slot& slot, const Exited& exited, Core& core) noexcept {
  if (!exited.actor || is_sentenced(slot) || !is_crash(exited.exit)) return;
  const base::Critical critical("who is ended by a signal must not block");
  try {
    notes_of(slot, core).sent_by = exited.actor;
  } catch (const std::bad_alloc&) {
  }
}

void sentence_by(const Exited& exited, Slot& slot) noexcept {
  Core& core = *Core::current();
  note_sender(slot, exited, core);
  core.sentence(slot, exited.exit, Sentenced::kBySignal);
}

}  // namespace

Signal* hear_exit(Slot& slot, Signal* signal) noexcept {
  if (slot.extras != nullptr && slot.extras->traps)
    return queue_heard(slot, signal, slot.kind->exited);
  const Exited& exited = *payload<Exited>(signal);
  if (!exited.exit.is_normal()) sentence_by(exited, slot);
  signal->ops = &kSpentExit;
  return signal;
}

void Core::sentence(Slot& slot, const Exit& exit, Sentenced by) noexcept {
  try {
    set_reason(slot, exit, by);
  } catch (const std::bad_alloc&) {  // it ends, but does not say why
  }
  unwind(slot);
}

void Core::set_reason(Slot& slot, const Exit& exit, Sentenced by) {
  Extras& extras = extras_of(slot, *this);
  if (extras.sentenced != Sentenced::kNot) return;
  extras.sentence = exit;
  extras.sentenced = by;
  counts.sent.raise();  // handled when it has ended: till then nothing is idle
}

Exit Core::why_unwound(const Slot& slot) const noexcept {
  if (is_sentenced(slot)) return slot.extras->sentence;
  return domain.load(std::memory_order_relaxed)->ending() ? Exit::shutdown() : Exit::stopped();
}

namespace {

Signal* hear_exit_signal(void* slot, Signal* signal) {
  return hear_exit(*static_cast<Slot*>(slot), signal);
}

Signal* hear_kill(void* slot, Signal* signal) {
  sentence_by(*payload<Exited>(signal), *static_cast<Slot*>(slot));
  signal->ops = &kSpentExit;
  return signal;
}

constexpr SignalOps kExit = {&hear_exit_signal, &handler::destroy<Exited>, "exit"};
constexpr SignalOps kKill = {&hear_kill, &handler::destroy<Exited>, "kill"};

Delivery send(Pid to, Exit reason, const SignalOps* ops) {
  const Inside inside;
  Core* core = Core::current();
  const bool in_actor = core != nullptr && core->running != nullptr;
  const Pid from = in_actor ? pid_of(*core->running) : Pid();
  try {
    if (in_actor) reason = outlasting(*core, std::move(reason));
  } catch (const std::bad_alloc&) {
    return Delivery::kNoMemory;
  }
  if (in_actor && to == from &&
      (ops == &kKill || !core->running->extras || !core->running->extras->traps)) {
    core->sentence(*core->running, reason, Sentenced::kByItself);  // also a normal one
    Core::check_unwind();
    return Delivery::kQueued;
  }
  const Admission admission = prepare_unbounded(to, kSignalBytes<Exited>,
                                                block_class(kSignalBytes<Exited>), Stays::kAsItIs);
  if (admission.signal == nullptr) return admission.why;
  admission.signal->ops = ops;
  admission.signal->flags = Signal::kUrgent | Signal::kLosesNothing;
  ::new (static_cast<void*>(payload<Exited>(admission.signal))) Exited{from, std::move(reason)};
  send_urgent(to, admission.signal);
  return Delivery::kQueued;
}

}  // namespace

Delivery send_exit(Pid to, Exit reason) { return send(to, std::move(reason), &kExit); }
Delivery send_kill(Pid to) { return send(to, Exit::killed(), &kKill); }

// An actor of this core needs no signal. For others it goes through the inbox, where it is heard by
// whoever takes it in, and not queued.
Delivery request_stop(Pid actor) noexcept {
  static constexpr SignalOps kOps = {[](void* slot, Signal* signal) {
                                       Core::current()->unwind(*static_cast<Slot*>(slot));
                                       return signal;
                                     },
                                     [](Signal*, DropCause) {}, "stop request"};
  const BrieflyInside inside;
  Core* core = inside.core();
  if (Slot* own = core != nullptr && actor ? core->find_own(actor) : nullptr; own != nullptr) {
    core->unwind(*own);
    return Delivery::kQueued;
  }
  const Admission admission = prepare_unbounded(actor, sizeof(Signal), 0, Stays::kAsItIs);
  if (admission.signal == nullptr) return admission.why;
  admission.signal->flags = Signal::kLosesNothing | Signal::kUrgent;
  admission.signal->ops = &kOps;
  send_urgent(actor, admission.signal);
  return Delivery::kQueued;
}

}  // namespace bulkhead::core
