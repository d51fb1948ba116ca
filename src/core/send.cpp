// The way of a message from its sender to the receiver's queue. See slot.hpp for the order
// argument.
#include <new>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "core/commons.hpp"
#include "core/compartment.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/guest.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

namespace {

// Takes a place in a bounded mailbox; see give_place_back.
bool reserve_place(Slot& slot, std::uint32_t bound) noexcept {
  std::uint32_t mail = slot.mail.load(std::memory_order_relaxed);
  while (mail < bound) {
    if (slot.mail.compare_exchange_weak(mail, mail + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

Signal* make_signal(Core* core, Pid to, std::uint8_t size_class, std::size_t bytes, Stays stays) {
  void* memory = nullptr;
  std::uint16_t pool = kHeapPool;
  if (stays == Stays::kNo && core != nullptr && crosses_from(*core)) [[unlikely]] {
    memory = take_message(to, bytes);
    pool = kMessageHeap;
  } else if (core == nullptr || size_class == memory::kHeapClass) {
    memory = memory::take_from_heap(bytes);
    size_class = memory::kHeapClass;
  } else {
    pool = core->index;
    memory = core->pool.take(size_class);
  }
  auto* signal = static_cast<Signal*>(memory);
  signal->pool = pool;
  signal->size_class = size_class;
  signal->flags = 0;
  return signal;
}

}  // namespace

void notify(Slot& slot) noexcept {
  // Whoever holds the right may read home: it changes only under the right.
  Core& home = *core_at(slot.home.load(std::memory_order_acquire));
  if (home.stands_for != nullptr) [[unlikely]] {
    home.stands_for->push(slot);
  } else {
    home.notify_remote(slot);
  }
}

namespace {

// The domain that a slot's actor lives or lived in; null when that is gone.
Domain* domain_of(const Slot* slot) noexcept {
  const Core* home =
      slot != nullptr ? core_at(slot->home.load(std::memory_order_acquire)) : nullptr;
  return home != nullptr ? home->domain.load(std::memory_order_acquire) : nullptr;
}

// Comes inside the gate of the domain that a slot belongs to; null when that does not run. Inside,
// the slot stays with the domain (domain.hpp, D5).
Domain* enter_domain_of(const Slot& slot) noexcept {
  Domain* domain = domain_of(&slot);
  if (domain == nullptr || !domain->gate.enter()) return nullptr;
  if (domain_of(&slot) == domain) return domain;
  domain->gate.leave();  // it has stopped since, and its name is another one's now
  return nullptr;
}

// The domain inside whose gate a thread outside is between prepare and commit: the slot alone would
// not tell, since it has no home while it changes hands. The link is free until the push.
void remember_gate(Signal& signal, Domain& domain) noexcept {
  signal.next = reinterpret_cast<Signal*>(&domain);
}
Domain& entered_by(const Signal& signal) noexcept {
  return *reinterpret_cast<Domain*>(signal.next);
}

// Inside the gate of the slot's domain, and leaves it.
void push_from_outside(Domain& domain, Slot& slot, Pid to, Signal* signal) noexcept {
  domain.outside.sent.fetch_add(1, std::memory_order_release);  // [pair domain.quiescent]
  if (domain.trace.is_on()) [[unlikely]]
    domain.trace.sends_outside(to, *signal);
  push_home(slot, *signal);
  domain.gate.leave();
}

// Has it ended? Acquire: who drops news gives what belongs to them back, which the other end has
// left (bond.hpp, B2; requests.hpp, Q3).
bool has_left(const Slot& slot, Pid actor) noexcept {
  return slot.generation.load(std::memory_order_acquire) != actor.generation();
}

// The same for a signal that loses nothing, such as the news of a bond, which must reach who lives:
// also while the domain ends, whose gate is closed. Who visits, and then finds the receiver alive,
// is waited for (sync/gate.hpp, G4). Null when the receiver is gone.
Domain* visit_domain_of(const Slot& slot, Pid to) noexcept {
  Domain* domain = domain_of(&slot);
  if (domain == nullptr) return nullptr;
  domain->gate.visit();
  if (domain_of(&slot) == domain && !has_left(slot, to)) return domain;
  domain->gate.leave();
  return nullptr;
}

// For an actor of another domain, which is not inside the gate yet.
[[gnu::noinline, gnu::cold]] void commit_abroad(Slot& slot, Pid to, Signal* signal) noexcept {
  Domain* domain = (signal->flags & Signal::kLosesNothing) != 0 ? visit_domain_of(slot, to)
                                                                : enter_domain_of(slot);
  // Only of an actor that lives is it sure that the slot belongs to this domain.
  const bool gone = domain != nullptr && has_left(slot, to);
  if (domain != nullptr && !gone) {
    push_from_outside(*domain, slot, to, signal);
    return;
  }
  if (domain != nullptr) domain->gate.leave();
  if ((signal->flags & Signal::kBounded) != 0) give_place_back(slot, *signal);
  const SignalOps& ops = *signal->ops;
  const bool lost = (signal->flags & Signal::kLosesNothing) == 0;
  {
    const InTheMiddle here;
    ops.destroy(signal, gone ? DropCause::kGone : DropCause::kStopped);
  }
  release_anywhere(signal);
  if (lost) count_refused(to, gone ? Delivery::kGone : Delivery::kStopped, ops.name);
}

// The part of prepare that looks at the receiver and makes the signal.
Admission admit(Core* core, Slot* slot, Pid to, std::uint32_t bound, std::size_t bytes,
                std::uint8_t size_class, Stays stays) noexcept {
  if (bound != 0 && !reserve_place(*slot, bound)) [[unlikely]]
    return {nullptr, Delivery::kFull};
  try {
    Signal* signal = make_signal(core, to, size_class, bytes, stays);
    signal->generation = to.generation();
    signal->flags = bound != 0 ? Signal::kBounded : std::uint8_t{0};
    return {signal, Delivery::kQueued};
  } catch (const std::bad_alloc&) {
    if (bound != 0) slot->mail.fetch_sub(1, std::memory_order_relaxed);
    return {nullptr, Delivery::kNoMemory};
  }
}

void write_words(Signal* signal, std::uint64_t first, std::uint64_t second) noexcept {
  auto* payload = reinterpret_cast<std::uint64_t*>(signal + 1);
  payload[0] = first;
  payload[1] = second;
}

// Why an actor cannot reach one that does not live: told as a thread outside is told it.
[[gnu::noinline, gnu::cold]] Delivery why_gone(const Slot* slot, const Core& core) noexcept {
  const Domain* domain = domain_of(slot);
  return domain != nullptr && domain != core.domain.load(std::memory_order_relaxed) &&
                 !domain->running()
             ? Delivery::kStopped
             : Delivery::kGone;
}

enum class Bound : bool { kIgnored, kKept };

DropCause cause_of(Delivery why) noexcept {
  switch (why) {
    case Delivery::kFull:
      return DropCause::kFull;
    case Delivery::kStopped:
      return DropCause::kStopped;
    case Delivery::kNoMemory:
      return DropCause::kNoMemory;
    case Delivery::kQueued:
    case Delivery::kGone:
      break;
  }
  return DropCause::kGone;
}

}  // namespace

namespace {

// A thread outside stays inside the gate of the receiver's domain from here to commit or withdraw,
// so that what it is told here is so.
[[gnu::noinline, gnu::cold]] Admission prepare_outside(Pid to, std::size_t bytes,
                                                       Bound bound) noexcept {
  Slot* slot = to ? Slab::find(to.index()) : nullptr;
  if (slot == nullptr) return {nullptr, Delivery::kGone};
  Domain* domain = enter_domain_of(*slot);
  if (domain == nullptr) {
    return {nullptr, domain_of(slot) != nullptr ? Delivery::kStopped : Delivery::kGone};
  }
  if (!lives(slot, to)) {
    domain->gate.leave();
    return {nullptr, Delivery::kGone};
  }
  const std::uint32_t most =
      bound == Bound::kKept ? slot->mail_bound.load(std::memory_order_relaxed) : 0;
  const Admission admission =
      admit(nullptr, slot, to, most, bytes, memory::kHeapClass, Stays::kAsItIs);
  if (admission.signal == nullptr) {
    domain->gate.leave();
  } else {
    remember_gate(*admission.signal, *domain);
  }
  return admission;
}

}  // namespace

Admission prepare(Pid to, std::size_t bytes, std::uint8_t size_class, Stays stays) noexcept {
  const std::uint8_t was = was_inside();
  Core* core = enter();
  if (core == nullptr) [[unlikely]]
    return prepare_outside(to, bytes, Bound::kKept);
  if (size_class != memory::kHeapClass && core->pool.dry(size_class)) [[unlikely]]
    core = Core::give_way(size_class);
  Slot* slot = Slab::find(to.index());
  Admission admission{nullptr, Delivery::kGone};
  if (lives(slot, to)) [[likely]] {
    admission = admit(core, slot, to, slot->mail_bound.load(std::memory_order_relaxed), bytes,
                      size_class, stays);
  } else {
    admission.why = why_gone(slot, *core);
  }
  core->leave(was);
  return admission;
}

namespace {

// A call in tail position, so that send_words has nothing to save.
[[gnu::noinline]] Delivery queued_and_ready(Core& core, Slot& slot, std::uint8_t was) {
  core.make_ready(slot);
  core.leave(was);
  return Delivery::kQueued;
}

// What send_words does when anything is out of the ordinary.
[[gnu::noinline, gnu::cold]] Delivery send_words_slowly(Pid to, const SignalOps* ops,
                                                        std::uint64_t first,
                                                        std::uint64_t second) noexcept {
  const Admission admission = prepare(to, kSmallestBlock, 0, Stays::kAsItIs);
  if (admission.signal == nullptr) return admission.why;
  write_words(admission.signal, first, second);
  commit(to, admission.signal, ops);
  return Delivery::kQueued;
}

}  // namespace

Delivery send_words(Pid to, const SignalOps* ops, std::uint64_t first,
                    std::uint64_t second) noexcept {
  const std::uint8_t was = was_inside();
  Core* core = tl_seat.at.enter();
  if (core == nullptr || to.index() >= Slab::used() || core->pool.dry(0)) [[unlikely]] {
    tl_seat.at.leave(was);
    return send_words_slowly(to, ops, first, second);
  }
  Slot& slot = Slab::at(to.index());
  // Home first: when it is this core, nobody else can end the actor.
  if (slot.home.load(std::memory_order_acquire) != core->quick_home ||  // [pair slot.home]
      slot.generation.load(std::memory_order_relaxed) != to.generation() ||
      slot.mail_bound.load(std::memory_order_relaxed) != 0 || slot.inbox.has_mail()) [[unlikely]] {
    core->leave(was);
    return send_words_slowly(to, ops, first, second);
  }
  auto* signal = static_cast<Signal*>(core->pool.take_ready(0));
  signal->ops = ops;
  signal->generation = to.generation();
  signal->pool = core->index;
  signal->size_class = 0;
  signal->flags = 0;
  write_words(signal, first, second);
  core->counts.sent.raise();
  slot.append(signal);
  if (slot.turn == Turn::kIdle) return queued_and_ready(*core, slot, was);
  core->leave(was);
  return Delivery::kQueued;
}

Admission prepare_unbounded(Pid to, std::size_t bytes, std::uint8_t size_class,
                            Stays stays) noexcept {
  const std::uint8_t was = was_inside();
  Core* core = enter();
  if (core == nullptr) return prepare_outside(to, bytes, Bound::kIgnored);
  Slot* slot = Slab::find(to.index());
  Admission admission{nullptr, Delivery::kGone};
  if (lives(slot, to)) {
    admission = admit(core, slot, to, 0, bytes, size_class, stays);
  } else {
    admission.why = why_gone(slot, *core);
  }
  core->leave(was);
  return admission;
}

Signal* prepare_later(std::size_t bytes, std::uint8_t size_class, Stays stays) {
  const BrieflyInside inside;
  return make_signal(inside.core(), Pid(), size_class, bytes, stays);
}

void withdraw_later(Signal* signal) noexcept {
  const Inside inside;
  if (signal->pool == kMessageHeap) [[unlikely]]
    forget_message(signal);
  release_anywhere(signal);
}

Delivery admit_later(Pid from, Pid to, Signal* signal) noexcept {
  const BrieflyInside inside;
  Slot* slot = Slab::find(to.index());
  if (!lives(slot, to)) return why_gone(slot, *inside.core());
  signal->generation = to.generation();
  const std::uint32_t bound = slot->mail_bound.load(std::memory_order_relaxed);
  if (bound != 0 && from != to) {
    if (!reserve_place(*slot, bound)) return Delivery::kFull;
    signal->flags |= Signal::kBounded;
  }
  return Delivery::kQueued;
}

void count_refused(Pid to, Delivery why, std::string_view message) noexcept {
  const Inside inside;
  const DropCause cause = cause_of(why);
  const auto place = static_cast<std::size_t>(cause);
  if (Core* core = Core::current(); core != nullptr) {
    core->counts.dropped[place].raise();
    core->counts.refused.raise();
    core->domain.load(std::memory_order_relaxed)->dead_letter(to, message, cause);
    return;
  }
  // A thread outside: the runtime that the receiver lived in counts.
  Domain* domain = to ? domain_of(Slab::find(to.index())) : nullptr;
  if (domain != nullptr) {
    domain->refused_outside(to, message, cause);
  } else {
    count_stray();
  }
}

Delivery refused(Pid to, Delivery why, const SignalOps* ops) noexcept {
  count_refused(to, why, ops->name);
  return why;
}

void release_in_hand(Signal* signal) noexcept {
  const std::uint8_t was = was_inside();
  Core* core = enter();
  core->stack->in_hand = nullptr;
  core->release(signal);
  core->leave(was);
}

void withdraw(Pid to, Signal* signal) noexcept {
  const Inside inside;
  Slot& slot = Slab::at(to.index());
  if ((signal->flags & Signal::kBounded) != 0) give_place_back(slot, *signal);
  if (Core::current() == nullptr) entered_by(*signal).gate.leave();
  if (signal->pool == kMessageHeap) [[unlikely]]
    forget_message(signal);
  release_anywhere(signal);
}

namespace {

template <bool kGoesFirst>
[[gnu::always_inline]] inline void append_here(Core& core, Slot& slot, Pid to,
                                               Signal* signal) noexcept {
  core.counts.sent.raise();
  // First of all: a slot that is vacant here may be somebody else's any moment.
  if (slot.generation.load(std::memory_order_relaxed) != to.generation()) [[unlikely]] {
    core.drop(signal, to, DropCause::kGone);
    return;
  }
  if (slot.inbox.has_mail()) [[unlikely]]
    core.take_in(slot, slot.inbox.take());
  if constexpr (kGoesFirst) {
    file(slot, signal, core);
  } else {
    slot.append(signal);
  }
  if (slot.turn == Turn::kIdle) core.make_ready(slot);
}

// To an actor whose home is another core, or was, a moment ago; or whose mail is traced.
template <bool kGoesFirst = false>
void push_from_core(Core& core, Slot& slot, std::uint16_t home, Pid to, Signal* signal) noexcept {
  if (core.trace != nullptr) [[unlikely]] {
    core.trace->sends(core.running, to, *signal);
    if (home == core.index) return append_here<kGoesFirst>(core, slot, to, signal);
  }
  if (home == kNoCore || has_left(slot, to)) [[unlikely]] {
    // It has ended since it was admitted, and its slot may be on its way to another core.
    core.counts.sent.raise();
    core.drop(signal, to, DropCause::kGone);
    return;
  }
  if (core_at(home)->domain.load(std::memory_order_relaxed) !=
      core.domain.load(std::memory_order_relaxed)) [[unlikely]] {
    commit_abroad(slot, to, signal);
    return;
  }
  core.counts.sent.raise();
  if (slot.wanted_by.load(std::memory_order_relaxed) != core.index && !core.solo &&
      !core.holds_roamer()) {
    slot.wanted_by.store(core.index, std::memory_order_relaxed);
  }
  push_home(slot, *signal);
}

// By an actor, inside.
template <bool kGoesFirst>
[[gnu::always_inline]] inline void commit_on(Core* core, Slot& slot, Pid to,
                                             Signal* signal) noexcept {
  const std::uint16_t home = slot.home.load(std::memory_order_acquire);  // [pair slot.home]
  if (home == core->quick_home) [[likely]] {
    append_here<kGoesFirst>(*core, slot, to, signal);
    return;
  }
  push_from_core<kGoesFirst>(*core, slot, home, to, signal);
}

}  // namespace

namespace {

template <bool kGoesFirst>
[[gnu::always_inline]] inline void commit_anywhere(Pid to, Signal* signal,
                                                   const SignalOps* ops) noexcept {
  signal->ops = ops;
  Slot& slot = Slab::at(to.index());
  const std::uint8_t was = was_inside();
  Core* core = enter();
  if (core == nullptr) [[unlikely]] {
    push_from_outside(entered_by(*signal), slot, to, signal);
    return;
  }
  commit_on<kGoesFirst>(core, slot, to, signal);
  core->leave(was);
}

}  // namespace

void commit(Pid to, Signal* signal, const SignalOps* ops) noexcept {
  commit_anywhere<false>(to, signal, ops);
}

void commit_first(Pid to, Signal* signal, const SignalOps* ops) noexcept {
  signal->flags |= Signal::kFirst;
  commit_anywhere<true>(to, signal, ops);
}

void push_home(Slot& slot, Signal& signal) noexcept {
  if (slot.inbox.push_remote(&signal) == sync::Pushed::kMustNotify) notify(slot);
}

// Its home may become this core between any two looks at it.
void send_urgent(Core& core, Pid to, Signal* signal) noexcept {
  Slot& slot = Slab::at(to.index());
  const std::uint16_t home = slot.home.load(std::memory_order_acquire);  // [pair slot.home]
  if (home != core.index) {
    push_from_core(core, slot, home, to, signal);
  } else if (Slot* own = core.find_own(to); own != nullptr) {
    core.hear(*own, signal);
  } else {  // it has ended
    core.counts.sent.raise();
    core.drop(signal, to, DropCause::kGone);
  }
}

void send_urgent(Pid to, Signal* signal) noexcept {
  const BrieflyInside inside;
  if (Core* core = inside.core(); core != nullptr) {
    send_urgent(*core, to, signal);
  } else {
    push_from_outside(entered_by(*signal), Slab::at(to.index()), to, signal);
  }
}

void send_news(Pid to, Signal* signal) noexcept {
  const BrieflyInside inside;
  if (Core* core = inside.core(); core != nullptr) {
    send_urgent(*core, to, signal);
  } else {
    commit_abroad(Slab::at(to.index()), to, signal);
  }
}

}  // namespace bulkhead::core
