// What is written into a track. All of it is out of line: see trace.hpp, X5.
#include "core/trace.hpp"

#include <algorithm>
#include <bit>

#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/slab.hpp"
#include "machine/cpus.hpp"

namespace bulkhead::core {

namespace {

using What = TraceEvent::What;

constexpr std::uint32_t bit(What what) { return 1u << static_cast<unsigned>(what); }

std::uint32_t kinds_of(const TraceOptions& options) {
  std::uint32_t kinds = 0;
  if (options.spawns) kinds |= bit(What::kSpawn);
  if (options.runs) kinds |= bit(What::kBegin) | bit(What::kEnd);
  if (options.parks) kinds |= bit(What::kPark);
  if (options.wakes) kinds |= bit(What::kWake);
  if (options.sends) kinds |= bit(What::kSend) | bit(What::kTake);
  if (options.exits) kinds |= bit(What::kExit);
  return kinds;
}

Pid pid_of(const Slot* slot) noexcept { return slot != nullptr ? core::pid_of(*slot) : Pid(); }

// Of an actor that is not the caller's, and lives (it may be in its destructor, and then has the
// next generation already).
Pid pid_seen(const Slot& slot) noexcept {
  return {Slab::index_of(slot), slot.generation.load(std::memory_order_relaxed)};
}

const ActorClass* class_of(const Slot& slot) noexcept { return slot.kind; }

}  // namespace

// --- sessions ------------------------------------------------------------------------------------

TraceSession::TraceSession(const TraceOptions& options, sync::WhenFull when_full_then)
    : when_full(when_full_then),
      capacity(std::bit_ceil(options.events_per_core)),
      kinds(kinds_of(options)),
      actors(options.actors),
      began(machine::Moment::now()) {
  std::ranges::sort(actors);
  tracks.push_back(std::make_unique<TraceTrack>(*this, TraceTrack::kOutside, false));
}

bool TraceSession::wants(const TraceEvent& event) const noexcept {
  if ((kinds & bit(event.what)) == 0) return false;
  return actors.empty() || std::ranges::binary_search(actors, event.actor) ||
         std::ranges::binary_search(actors, event.other);
}

// --- a core's track ------------------------------------------------------------------------------

TraceTrack::TraceTrack(const TraceSession& its_session, std::size_t its_place, bool its_solo)
    : session(its_session),
      place(its_place),
      solo(its_solo),
      ring(its_session.capacity, its_session.when_full) {}

bool TraceTrack::note(TraceEvent event) noexcept {
  if (!session.wants(event)) return false;
  event.cycles = machine::cycles();
  return ring.push(event.words());
}

void TraceTrack::begins(const Slot& slot) noexcept {
  note({.what = What::kBegin, .actor = core::pid_of(slot), .of = class_of(slot)});
}

void TraceTrack::ends(const Slot& slot, TurnEnd how, std::uint32_t handled) noexcept {
  note({.what = What::kEnd,
        .detail = static_cast<std::uint8_t>(how),
        .actor = core::pid_of(slot),
        .of = class_of(slot),
        .more = handled});
}

void TraceTrack::leaves(const Slot& slot, const Slot* next) noexcept {
  ends(slot, slot.turn == Turn::kReady || next == &slot ? TurnEnd::kYields : TurnEnd::kParks);
  if (next != nullptr) begins(*next);
}

void TraceTrack::parks(const Slot& slot, WaitsFor what, std::int64_t timeout) noexcept {
  if (slot.has(Slot::kResumed | Slot::kUnwind)) return;  // it will not
  note({.what = What::kPark,
        .detail = static_cast<std::uint8_t>(what),
        .actor = core::pid_of(slot),
        .of = class_of(slot),
        .more = static_cast<std::uint64_t>(timeout)});
}

void TraceTrack::wakes(const Slot* by, const Slot& woken, bool by_time) noexcept {
  note({.what = What::kWake,
        .detail = static_cast<std::uint8_t>(by_time),
        .actor = pid_of(by),
        .other = pid_seen(woken)});
}

void TraceTrack::sends(const Slot* from, Pid to, Signal& signal) noexcept {
  if ((signal.flags & Signal::kUrgent) != 0) return;  // an exit, or a request to stop
  const bool noted = note({.what = What::kSend,
                           .actor = pid_of(from),
                           .other = to,
                           .of = signal.ops,
                           .more = reinterpret_cast<std::uint64_t>(&signal)});
  if (noted) signal.flags = static_cast<std::uint8_t>(signal.flags | Signal::kTraced);
}

void TraceTrack::takes(const Slot& slot, const Signal& signal) noexcept {
  note({.what = What::kTake,
        .actor = core::pid_of(slot),
        .of = signal.ops,
        .more = reinterpret_cast<std::uint64_t>(&signal)});
}

void TraceTrack::spawns(const Slot* by, Pid spawned, const ActorClass& kind) noexcept {
  note({.what = What::kSpawn, .actor = pid_of(by), .other = spawned, .of = &kind});
}

void TraceTrack::exits(const Slot& slot, Pid pid, Exit::Kind kind) noexcept {
  note({.what = What::kExit,
        .detail = static_cast<std::uint8_t>(kind),
        .actor = pid,
        .of = class_of(slot)});
  note({.what = What::kEnd,
        .detail = static_cast<std::uint8_t>(TurnEnd::kExits),
        .actor = pid,
        .of = class_of(slot)});
}

// --- cores ---------------------------------------------------------------------------------------

void Core::trace_taking(const Slot& slot, const Signal& signal) noexcept {
  if (trace != nullptr) trace->takes(slot, signal);
}

void Trace::follow(Core& core) noexcept {
  const sync::Guard guard(lock_);
  core.trace_epoch_ = epoch_.load(std::memory_order_relaxed);
  if (core.trace_session_ == now_) return;
  leave(core);
  if (now_ != nullptr) join(core);
  changed_.notify_all();
}

// With the lock held.
void Trace::leave(Core& core) noexcept {
  core.trace = nullptr;
  core.quick_home = core.index;
  if (core.trace_session_ != nullptr) --core.trace_session_->followers;
  core.trace_session_.reset();
}

void Trace::join(Core& core) noexcept {
  TraceTrack* track = nullptr;
  try {
    now_->tracks.push_back(std::make_unique<TraceTrack>(*now_, core.place, core.solo));
    track = now_->tracks.back().get();
  } catch (const std::bad_alloc&) {  // it is told when the trace ends
    ++now_->without_memory;
  }
  ++now_->followers;
  core.trace_session_ = now_;
  core.trace = track;
  constexpr std::uint32_t kNoticed = bit(What::kSend) | bit(What::kWake);
  if (track != nullptr && (now_->kinds & kNoticed) != 0) core.quick_home = Core::kNoHome;
}

// --- threads outside -----------------------------------------------------------------------------

bool Trace::note_outside(TraceEvent event) noexcept {
  event.actor = Pid(static_cast<std::uint32_t>(machine::thread_id()), 0);
  const sync::Guard guard(lock_);
  return now_ != nullptr && now_->tracks.front()->note_outside(event);
}

bool TraceTrack::note_outside(TraceEvent event) noexcept { return note(event); }

void Trace::sends_outside(Pid to, Signal& signal) noexcept {
  if ((signal.flags & Signal::kUrgent) != 0) return;
  const bool noted = note_outside({.what = What::kSend,
                                   .other = to,
                                   .of = signal.ops,
                                   .more = reinterpret_cast<std::uint64_t>(&signal)});
  if (noted) signal.flags = static_cast<std::uint8_t>(signal.flags | Signal::kTraced);
}

void Trace::spawns_outside(Pid spawned, const ActorClass& kind) noexcept {
  note_outside({.what = What::kSpawn, .other = spawned, .of = &kind});
}

void Trace::wakes_outside(Pid woken) noexcept {
  note_outside({.what = What::kWake, .other = woken});
}

}  // namespace bulkhead::core
