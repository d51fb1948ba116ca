// The trace of a domain: what its cores, and threads outside, write down of what actors do.
//
// A session is one trace, or one flight recorder. Each core that follows it has a track of its own
// in it, a ring of events. Who reads the rings is the drain (trace_drain.hpp), if the session is a
// trace, and whoever wants the last events (trace_text.cpp).
//
// Who touches what
//  X1  A core writes events into the track that Core::trace names; null: it follows no session. It
//      changes that by itself, between two activations: at a turn in which it finds that the epoch
//      of its domain's trace has changed (follow). So each turn of an actor is traced as a whole,
//      or not at all.
//  X2  What is not an event's (sessions, who follows which, the tracks of a session) is under the
//      trace's lock, which is held for a few instructions, and while a core's track is made.
//  X3  A session lives as long as somebody follows it: a core in a long handler still writes into
//      its track when the trace has ended. Nobody reads that any more.
//  X4  Threads outside share one track, and write into it under the lock. They are inside the gate.
//  X5  Sends and wake-ups within a core are noticed without a look at the trace: a core that traces
//      them takes none of its actors to be at home with it, by Core::quick_home. So they go the way
//      of those to other cores, where the trace is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bulkhead/exit.hpp"
#include "bulkhead/trace.hpp"
#include "bulkhead/wait.hpp"
#include "core/slot.hpp"
#include "machine/cycles.hpp"
#include "sync/event_ring.hpp"
#include "sync/mutex.hpp"

namespace bulkhead::core {

class Core;
class Domain;
class TraceDrain;
struct TraceSession;

/// How a turn of an actor ended.
enum class TurnEnd : std::uint8_t { kIdle, kBatch, kYields, kParks, kExits, kAway };

/// An event, as it lies in a ring: five words.
struct TraceEvent {
  enum class What : std::uint8_t { kSpawn, kBegin, kEnd, kPark, kWake, kSend, kTake, kExit };

  std::uint64_t cycles = 0;
  What what = What::kSpawn;
  std::uint8_t detail = 0;  // a TurnEnd, a WaitsFor, an Exit::Kind; of a wake: by time
  Pid actor = {};           // who does it; of threads outside, generation 0: the thread's number
  Pid other = {};           // who is spawned, woken, sent to
  const void* of =
      nullptr;             // the class of the actor, or of the one spawned; the message's SignalOps
  std::uint64_t more = 0;  // messages handled; time to wait at most; the signal's address

  using Words = std::array<std::uint64_t, 5>;
  [[nodiscard]] Words words() const noexcept {
    return {cycles, packed(static_cast<std::uint8_t>(what), actor),
            reinterpret_cast<std::uint64_t>(of), packed(detail, other), more};
  }
  [[nodiscard]] static TraceEvent of_words(const Words& words) noexcept {
    return {words[0],
            static_cast<What>(words[1] >> kPidBits),
            static_cast<std::uint8_t>(words[3] >> kPidBits),
            pid(words[1]),
            pid(words[3]),
            reinterpret_cast<const void*>(words[2]),
            words[4]};
  }
  [[nodiscard]] bool concerns(Pid pid) const noexcept { return actor == pid || other == pid; }
  [[nodiscard]] const ActorClass& kind() const noexcept {
    return *static_cast<const ActorClass*>(of);
  }
  [[nodiscard]] const SignalOps& message() const noexcept {
    return *static_cast<const SignalOps*>(of);
  }

 private:
  static constexpr unsigned kPidBits = 56;  // 24 of them for the index (kMaxSlots)

  static std::uint64_t packed(std::uint8_t high, Pid pid) noexcept {
    return std::uint64_t{high} << kPidBits | std::uint64_t{pid.index()} << 32 | pid.generation();
  }
  static Pid pid(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32) & 0xffffff, static_cast<std::uint32_t>(word)};
  }
};

/// The events of one core, or of all threads outside.
class TraceTrack {
 public:
  static constexpr std::size_t kOutside = SIZE_MAX;
  using Ring = sync::EventRing<RealSync, 5>;

  /// Throws std::bad_alloc.
  TraceTrack(const TraceSession& its_session, std::size_t its_place, bool its_solo);

  const TraceSession& session;
  const std::size_t place;  // of the core within its domain; kOutside
  const bool solo;
  Ring ring;

  // What the core does. By who runs it.
  void begins(const Slot& slot) noexcept;
  void ends(const Slot& slot, TurnEnd how, std::uint32_t handled = 0) noexcept;
  /// The running actor leaves its stack; `next`, if not null, goes on at once.
  void leaves(const Slot& slot, const Slot* next) noexcept;
  void parks(const Slot& slot, WaitsFor what, std::int64_t timeout) noexcept;
  void wakes(const Slot* by, const Slot& woken, bool by_time = false) noexcept;
  /// Before it is queued or pushed.
  void sends(const Slot* from, Pid to, Signal& signal) noexcept;
  void takes(const Slot& slot, const Signal& signal) noexcept;
  void spawns(const Slot* by, Pid spawned, const ActorClass& kind) noexcept;
  void exits(const Slot& slot, Pid pid, Exit::Kind kind) noexcept;

  /// By a thread outside, under the trace's lock.
  bool note_outside(TraceEvent event) noexcept;

 private:
  bool note(TraceEvent event) noexcept;
};

struct TraceSession {
  /// Throws std::bad_alloc.
  TraceSession(const TraceOptions& options, sync::WhenFull when_full);

  [[nodiscard]] bool wants(const TraceEvent& event) const noexcept;

  const sync::WhenFull when_full;
  const std::size_t capacity;
  std::uint32_t kinds = 0;  // bits, by TraceEvent::What
  std::vector<Pid> actors;  // sorted; empty: all
  const machine::Moment began;

  // Under the trace's lock.
  std::vector<std::unique_ptr<TraceTrack>> tracks;  // the first is that of threads outside
  std::size_t followers = 0;
  std::size_t without_memory = 0;  // cores that could not get a track
};

class Trace {
 public:
  explicit Trace(Domain& domain) noexcept;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();

  // --- any thread outside: see Runtime -----------------------------------------------------------

  using Error = std::optional<TraceError>;
  /// To a file if the sink is empty.
  [[nodiscard]] Error start(const std::string& path, TraceSink sink, const TraceOptions& options);
  [[nodiscard]] std::expected<TraceSummary, TraceError> stop();
  [[nodiscard]] Error start_recorder(const TraceOptions& options);
  void stop_recorder();
  [[nodiscard]] bool writes() const noexcept;

  // --- any thread --------------------------------------------------------------------------------

  [[nodiscard]] std::vector<std::string> last(const LastEvents& which) const;

  // --- the domain --------------------------------------------------------------------------------

  /// Before its threads start; tells on stderr what cannot be done.
  void begin_with(const std::optional<TraceSettings>& settings) noexcept;
  /// When they have; until close, others may start and stop traces.
  void open() noexcept;
  /// When its threads have ended: ends what is on.
  void close() noexcept;
  /// Gives back what the last session has left.
  void forget() noexcept;

  // --- its cores ---------------------------------------------------------------------------------

  /// Changes with the session.
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);
  }
  void follow(Core& core) noexcept;

  // --- threads outside, inside the gate ----------------------------------------------------------

  [[nodiscard]] bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }
  void sends_outside(Pid to, Signal& signal) noexcept;
  void spawns_outside(Pid spawned, const ActorClass& kind) noexcept;
  void wakes_outside(Pid woken) noexcept;

  // --- the drain ---------------------------------------------------------------------------------

  /// The tracks of a session, as of now.
  [[nodiscard]] std::vector<TraceTrack*> tracks_of(const TraceSession& session) const;
  /// Nothing can be written any more.
  void give_up(const TraceSession& session) noexcept;

 private:
  using SharedSession = std::shared_ptr<TraceSession>;

  [[nodiscard]] Error begin(const std::string& path, TraceSink sink, const TraceOptions& options);
  void switch_to(SharedSession next) noexcept;
  SharedSession publish(SharedSession next) noexcept;  // the one before
  void ring_bell() noexcept;
  void leave(Core& core) noexcept;
  void join(Core& core) noexcept;
  bool note_outside(TraceEvent event) noexcept;

  Domain& domain_;
  sync::Mutex control_;  // who starts and stops, one after the other
  std::unique_ptr<TraceDrain> drain_;
  std::optional<TraceOptions> recorder_;  // is to be on while no trace is

  mutable sync::Mutex lock_;  // X2
  sync::Condition changed_;
  SharedSession now_;
  SharedSession kept_;  // the last one, after the domain's stop
  bool open_ = false;
  RealSync::atomic<std::uint32_t> epoch_{0};
  RealSync::atomic<bool> on_{false};
};

}  // namespace bulkhead::core
