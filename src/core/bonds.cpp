#include <algorithm>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/critical.hpp"
#include "bulkhead/handler.hpp"
#include "core/bond.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"

namespace bulkhead::core {

struct LinkIndex {
  std::unordered_multimap<Pid, Bond*> links;
};

namespace {

Bond& bond_of(Bond::End& end) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(&end);
  return *reinterpret_cast<Bond*>(address & ~(alignof(Bond) - 1));
}
unsigned side_of(const Bond& bond, const Bond::End& end) noexcept {
  return &end == &bond.ends[0] ? 0 : 1;
}
Bond& bond_of(Signal* news) noexcept { return *reinterpret_cast<Bond*>(news); }

// --- an actor's list ---

void put_into(LinkIndex& index, Bond& bond, unsigned side) {
  const base::Critical critical("who is told of a link must not block");
  index.links.emplace(bond.actor(1 - side), &bond);
}

void tie(Bonds& bonds, Bond& bond, unsigned side) noexcept {
  Bond::End& end = bond.ends[side];
  end.next = &bonds.head;
  end.previous = bonds.head.previous;
  bonds.head.previous->next = &end;
  bonds.head.previous = &end;
  if (bonds.index == nullptr || bond.kind != Bond::Kind::kLink) return;
  try {
    put_into(*bonds.index, bond, side);
  } catch (const std::bad_alloc&) {
    delete std::exchange(bonds.index, nullptr);
  }
}

void untie(Bonds& bonds, Bond& bond, unsigned side) noexcept {
  Bond::End& end = bond.ends[side];
  end.previous->next = end.next;
  end.next->previous = end.previous;
  end.next = nullptr;
  if (bonds.index == nullptr || bond.kind != Bond::Kind::kLink) return;
  auto [at, last] = bonds.index->links.equal_range(bond.actor(1 - side));
  at = std::find_if(at, last, [&](const auto& entry) { return entry.second == &bond; });
  bonds.index->links.erase(at);
}

void make_index(Bonds& bonds) {
  auto index = std::make_unique<LinkIndex>();
  for (Bond::End* end = bonds.head.next; end != &bonds.head; end = end->next) {
    Bond& bond = bond_of(*end);
    if (bond.kind == Bond::Kind::kLink) put_into(*index, bond, side_of(bond, *end));
  }
  bonds.index = index.release();
}

// --- what is left of a signal that has been heard ---

constexpr SignalOps kSpent = {nullptr, [](Signal*, DropCause) {}, "news"};
constexpr SignalOps kSpentDown = {nullptr, &handler::destroy<Down>, "Down"};

// --- news ---

// By who is done with its side. False when the other one has been before: its news are on the way.
bool cut(Bond& bond, unsigned side, const Exit* exit) noexcept {
  if (!bond.tie.cut(side)) return false;
  bond.hears = static_cast<std::uint8_t>(1 - side);
  bond.what = exit != nullptr ? Bond::News::kEnded : Bond::News::kUndone;
  if (exit == nullptr) return true;
  if (bond.kind == Bond::Kind::kMonitor) {
    const MonitorRef reference(bond.index, bond.generation.load(std::memory_order_relaxed));
    ::new (static_cast<void*>(bond.told)) Down{reference, bond.actor(side), *exit};
  } else {
    ::new (static_cast<void*>(bond.told)) Exited{bond.actor(side), *exit};
  }
  return true;
}

const SignalOps& spent(const Bond& bond) noexcept {
  if (bond.what == Bond::News::kUndone) return kSpent;
  return bond.kind == Bond::Kind::kMonitor ? kSpentDown : kSpentExit;
}

Signal* hear_news(void* actor, Signal* signal) {
  Slot& slot = *static_cast<Slot*>(actor);
  Bond& bond = bond_of(signal);
  const bool holds = is_tied(bond.ends[bond.hears]);
  if (holds) untie(slot.extras->bonds, bond, bond.hears);
  if (!holds || bond.what == Bond::News::kUndone) {
    signal->ops = &spent(bond);
    return signal;
  }
  if (bond.kind == Bond::Kind::kLink) return hear_exit(slot, signal);
  return queue_heard(slot, signal, slot.kind->down);
}

constexpr SignalOps kNews = {
    &hear_news,
    [](Signal* signal, DropCause cause) { spent(bond_of(signal)).destroy(signal, cause); }, "news"};

void tell(Core& core, Bond& bond) noexcept {
  const Pid to = bond.actor(bond.hears);
  bond.news.ops = &kNews;
  bond.news.generation = to.generation();
  bond.news.pool = kBondPool;
  bond.news.size_class = kHeapClass;
  bond.news.flags = Signal::kUrgent | Signal::kLosesNothing;
  send_urgent(core, to, &bond.news);
}

// --- the way of a new bond to its other side ---

void refuse(Bond& bond, const Exit& exit) noexcept {
  if (cut(bond, 1, &exit)) tell(*Core::current(), bond);
}

Bond*& carried(Signal* signal) noexcept { return *payload<Bond*>(signal); }

void let_go(Bond& bond) noexcept;

Signal* hear_attach(void* actor, Signal* signal) {
  Slot& slot = *static_cast<Slot*>(actor);
  try {
    Bond& bond = *carried(signal);
    tie(extras_of(slot, *Core::current()).bonds, bond, 1);
    static_cast<void>(bond.tie.carrier_goes());  // it is tied, so there have been no news
    signal->ops = &kSpent;
  } catch (const std::bad_alloc&) {  // it is refused, when the signal is dropped
  }
  return signal;
}

void drop_attach(Signal* signal, DropCause /*cause*/) {
  Bond& bond = *carried(signal);
  refuse(bond, Exit::no_actor());
  if (bond.tie.carrier_goes()) let_go(bond);
}

constexpr SignalOps kAttach = {&hear_attach, &drop_attach, "link"};

// Side 0 is tied. Throws std::bad_alloc.
void attach(Core& core, Bond& bond) {
  const Pid to = bond.other;
  if (Slot* slot = core.find_own(to); slot != nullptr) {
    tie(extras_of(*slot, core).bonds, bond, 1);
    return;
  }
  const Admission admission = prepare_unbounded(to, kSignalBytes<Bond*>, 0, Stays::kAsItIs);
  if (admission.signal == nullptr) {
    if (admission.why == Delivery::kNoMemory) throw std::bad_alloc();
    refuse(bond, Exit::no_actor());
    return;
  }
  bond.tie.renew(true);
  admission.signal->ops = &kAttach;
  admission.signal->flags = Signal::kUrgent | Signal::kLosesNothing;
  ::new (static_cast<void*>(payload<Bond*>(admission.signal))) Bond*(&bond);
  send_urgent(core, to, admission.signal);
}

}  // namespace

Pid Bond::actor(unsigned side) const noexcept {
  return side == 0 ? maker.load(std::memory_order_relaxed) : other;
}

Bond& make_bond(Core& core, Bond::Kind kind, Pid maker, Pid other) {
  Bond& bond = core.free_bonds.take();
  bond.ends[0].next = bond.ends[1].next = nullptr;
  bond.maker.store(maker, std::memory_order_relaxed);
  bond.other = other;
  bond.tie.renew(false);
  bond.kind = kind;
  static_cast<void>(next_generation(bond));
  return bond;
}

bool tells_of_end(Signal* signal) noexcept {
  if (signal->pool != kBondPool) return false;
  const Bond& bond = bond_of(signal);
  return bond.kind == Bond::Kind::kMonitor && bond.what == Bond::News::kEnded;
}

void give_bond(Signal* news) noexcept {
  if (Bond& bond = bond_of(news); bond.tie.news_go()) let_go(bond);
}

namespace {

void let_go(Bond& bond) noexcept {
  static_cast<void>(next_generation(bond));
  if (Core* core = Core::current(); core != nullptr) {
    core->free_bonds.give(bond);
  } else {
    bond.next_free() = nullptr;
    RecordSlab<Bond>::process().give(&bond);
  }
}

}  // namespace

void tie_both(Extras& maker, Extras& other, Bond& bond) noexcept {
  tie(maker.bonds, bond, 0);
  tie(other.bonds, bond, 1);
}

Bond* leave_all(Slot& slot, const Exit& exit, Made by) noexcept {
  Bond* first = nullptr;
  Bond** last = &first;
  Bonds& bonds = slot.extras->bonds;
  delete std::exchange(bonds.index, nullptr);
  for (Bond::End* end = bonds.head.next; end != &bonds.head;) {
    Bond& bond = bond_of(*end);
    const unsigned side = side_of(bond, *end);
    end = end->next;
    if (by == Made::kByItself && side != 0) continue;
    untie(bonds, bond, side);
    const bool watches = bond.kind == Bond::Kind::kMonitor && side == 0;
    if (!cut(bond, side, watches ? nullptr : &exit)) continue;
    bond.next = nullptr;
    *last = &bond;
    last = &bond.next;
  }
  return first;
}

void tell_all(Core& core, Bond* chain) noexcept {
  while (chain != nullptr) {
    Bond& bond = *chain;
    chain = bond.next;
    tell(core, bond);
  }
}

Bonds::~Bonds() { delete index; }

bool is_tied(const Bond::End& end) noexcept { return end.next != nullptr; }

MonitorRef reference(const Bond& bond) noexcept {
  return {bond.index, bond.generation.load(std::memory_order_relaxed)};
}

Bond& bind(Core& core, Slot& self, Bond::Kind kind, Pid other) {
  Bonds& bonds = extras_of(self, core).bonds;
  Bond& bond = make_bond(core, kind, pid_of(self), other);
  tie(bonds, bond, 0);
  try {
    attach(core, bond);
  } catch (const std::bad_alloc&) {
    untie(bonds, bond, 0);
    give_bond(&bond.news);
    throw;
  }
  return bond;
}

void leave(Core& core, Bonds& bonds, Bond& bond, unsigned side) noexcept {
  untie(bonds, bond, side);
  if (cut(bond, side, nullptr)) tell(core, bond);
}

Bond* find_monitor(const Slot& self, MonitorRef monitor) noexcept {
  if (monitor.generation() % 2 == 0) return nullptr;
  Bond* bond = RecordSlab<Bond>::process().find(monitor.index());
  const bool found = bond != nullptr &&
                     bond->generation.load(std::memory_order_relaxed) == monitor.generation() &&
                     bond->maker.load(std::memory_order_relaxed) == pid_of(self) &&
                     bond->kind == Bond::Kind::kMonitor;
  return found ? bond : nullptr;
}

Bond* find_link(Bonds& bonds, Pid other) {
  constexpr int kFew = 64;
  if (bonds.index != nullptr) {
    const auto found = bonds.index->links.find(other);
    return found != bonds.index->links.end() ? found->second : nullptr;
  }
  int looked_at = 0;
  for (Bond::End* end = bonds.head.next; end != &bonds.head; end = end->next) {
    Bond& bond = bond_of(*end);
    if (bond.kind == Bond::Kind::kLink && bond.actor(1 - side_of(bond, *end)) == other) {
      return &bond;
    }
    if (++looked_at == kFew) {
      make_index(bonds);
      return find_link(bonds, other);
    }
  }
  return nullptr;
}

Bonds::Counts Bonds::count() const noexcept {
  Counts counts;
  for (Bond::End* end = head.next; end != &head; end = end->next) {
    const Bond& bond = bond_of(*end);
    const bool own = side_of(bond, *end) == 0;
    ++(bond.kind == Bond::Kind::kLink ? counts.links : own ? counts.monitoring : counts.monitored);
  }
  return counts;
}

std::vector<Pid> first_links(const Bonds& bonds, std::size_t most) {
  std::vector<Pid> some;
  for (Bond::End* end = bonds.head.next; end != &bonds.head && some.size() < most;
       end = end->next) {
    const Bond& bond = bond_of(*end);
    if (bond.kind == Bond::Kind::kLink) some.push_back(bond.actor(1 - side_of(bond, *end)));
  }
  return some;
}

std::vector<Pid> linked_to(const Bonds& bonds) {
  std::vector<Pid> all;
  for (Bond::End* end = bonds.head.next; end != &bonds.head; end = end->next) {
    const Bond& bond = bond_of(*end);
    if (bond.kind == Bond::Kind::kLink) all.push_back(bond.actor(1 - side_of(bond, *end)));
  }
  // Two that have linked to each other at the same time have two.
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

namespace {

// Takes the signals that are wanted out of the queue, and drops them.
template <class Wanted>
void take_out(Core& core, Slot& slot, Wanted wanted) noexcept {
  Signal* taken = nullptr;
  Signal* last = nullptr;
  for (Signal* signal = slot.oldest; signal != nullptr;) {
    Signal* const next = signal->next;
    if (!wanted(signal)) {
      last = signal;
    } else {
      (last != nullptr ? last->next : slot.oldest) = next;
      if (slot.newest == signal) slot.newest = last;
      --slot.length;
      if ((signal->flags & Signal::kFirst) != 0) note_taken(slot, signal, last);
      signal->next = std::exchange(taken, signal);
    }
    signal = next;
  }
  while (taken != nullptr) {
    Signal* const next = taken->next;
    core.discard(taken, pid_of(slot), DropCause::kGone);  // which loses nothing
    core.counts.handled.raise();
    taken = next;
  }
}

}  // namespace

void take_news_out(Core& core, Slot& slot, Bond& bond) noexcept {
  take_out(core, slot, [&bond](Signal* signal) { return signal == &bond.news; });
}

void take_exits_out(Core& core, Slot& slot, Pid actor) noexcept {
  if (slot.inbox.has_mail()) core.take_in(slot, slot.inbox.take());
  const SignalOps* const exited = slot.kind->exited;
  if (exited == nullptr) return;
  take_out(core, slot, [exited, actor](Signal* signal) {
    return signal->ops == exited && payload<Exited>(signal)->actor == actor;
  });
}

}  // namespace bulkhead::core
