// A slot: what the runtime keeps of one actor. Three cache lines, in the slab (slab.hpp), which
// never moves and is never unmapped, so that any thread may look at the first line at any time.
//
// Who touches what
//  S1  The first line: any thread, as its parts say.
//  S2  The other lines: the owner only, which is the core that `home` names; or, while an actor is
//      being made, its maker. They change hands through the arrivals of the new core
//      [pair arrivals.take], or through `home` itself [pair slot.home]. One exception: of
//      an actor that roams, `timeout` and what `extras` holds of timers are under a lock
//      (commons.hpp, M4).
//  S3  `home` changes only by a move, but for S5 and S6: the owner claims the inbox's right of
//      notification, makes the slot ready to be owned by the other core, stores `home`, and puts
//      the slot among the other core's arrivals. Between the last two steps the other core may
//      already append to the queue: it owns the slot from the moment that it can see `home`.
//  S4  `generation` grows when an actor ends. A vacant slot has the generation that its next actor
//      will have; no pid carries it before that actor is made. A pid of another generation is dead.
//      A slot whose generation is spent is never used again.
//  S5  A vacant slot still has a home, whose core drops what stragglers push into it. Who wants to
//      use it for another core claims its right of notification first, as for a move, and takes its
//      home away. So the former home's core touches a vacant slot only while it holds the right.
//  S6  An actor that roams (commons.hpp) is owned by who holds its right of notification, while its
//      home is the commons: whoever has taken it from the shared queue, or claimed the right. That
//      core becomes its home for an activation, and keeps the right meanwhile. It ends that by
//      storing the commons as home, and then giving the right up, or putting the actor back into
//      the queue. While its home is a core that does not hold its right, it is owned as any other.
//
// Order (A7). Signals from actor S to actor R are handled in the order sent, wherever both are and
// however they move. S sends either into R's inbox (R's home is not S's core) or, as R's owner,
// onto R's queue, and the latter only after it has emptied the inbox into the queue. Take two
// sends, m1 before m2:
//   - both into the inbox: the inbox is in order of push, and take/settle keep it (I4);
//   - both onto the queue: a plain FIFO;
//   - m1 into the inbox, m2 onto the queue: R's home became S's core in between. S's push of m1
//     happened before S's own move or R's (each goes through arrivals, or through the shared queue
//     and the right that come with an actor that roams), so the check before m2's append sees m1,
//     or it has been taken already and is in the queue;
//   - m1 onto the queue, m2 into the inbox: m1 is in the queue that moves along with R, and whoever
//     takes m2 from the inbox appends it behind.
// No counter, no forwarding, no queue per pair of cores. Checked by handover_model.cpp and by
// tests/stress.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bulkhead/actor_class.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/signal.hpp"
#include "core/timer.hpp"
#include "machine/stack.hpp"
#include "sync/atomic.hpp"
#include "sync/inbox.hpp"
#include "sync/wait_word.hpp"

namespace bulkhead::core {

using sync::RealSync;

inline constexpr std::uint16_t kNoCore = 0xffff;
/// The home of a slot that an outside thread waits with (guest.hpp).
inline constexpr std::uint16_t kGuestHome = 0xfffe;
/// The home of a slot that a request waits with (requests.hpp).
inline constexpr std::uint16_t kRequestHome = 0xfffc;
inline constexpr std::uint16_t kHeapPool = 0xffff;
inline constexpr std::uint16_t kBondPool = 0xfffe;    // the memory of a bond: bond.hpp
inline constexpr std::uint16_t kTickPool = 0xfffc;    // a timer's, which it comes back to: Tick
inline constexpr std::uint16_t kActorsHeap = 0xfffd;  // an isolated actor's own: compartment.hpp

/// What its owner writes, and reads as if it were plain; others may look at it, and see some value
/// that it had. Costs nothing.
template <class T>
class Shown {
 public:
  Shown(T value = T()) noexcept : value_(value) {}  // NOLINT: it is used as a T
  Shown(const Shown& other) noexcept : Shown(static_cast<T>(other)) {}
  Shown& operator=(const Shown& other) noexcept {
    *this = static_cast<T>(other);
    return *this;
  }
  Shown& operator=(T value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const noexcept {  // NOLINT
    return value_.load(std::memory_order_relaxed);
  }
  T operator->() const noexcept { return *this; }
  Shown& operator++() noexcept { return *this = static_cast<T>(*this + 1); }
  Shown& operator--() noexcept { return *this = static_cast<T>(*this - 1); }
  /// Stores, so that who observes the value also sees what was written before.
  void publish(T value) noexcept {
    value_.store(value, std::memory_order_release);  // [pair shown.observe]
  }
  [[nodiscard]] T observe() const noexcept {
    return value_.load(std::memory_order_acquire);  // [pair shown.observe]
  }

 private:
  RealSync::atomic<T> value_;
};

/// Where an actor is in its turn. Owner.
///
/// | state   | meaning                                  | next                                |
/// |---------|------------------------------------------|-------------------------------------|
/// | Vacant  | no actor                                 | Ready, Idle (spawn)                 |
/// | Idle    | waits for messages, its stack given back | Ready (message, timeout)            |
/// |         | or, while Receiving, with its stack      | Ready (message, resume)             |
/// | Ready   | in its core's ready queue, or on its way | Running                             |
/// | Running | a handler runs                           | Idle, Ready, Opening, Vacant (ended)|
/// |         |                                          | Away (crew.hpp)                     |
/// | Away    | its handler runs, but not on its core    | Ready (home)                        |
/// | Opening | it has opened a wait, and may not block  | Parked, Idle (park); Running (the   |
/// |         |                                          | wait retired, or ended by itself)   |
/// | Parked  | blocked in mid-handler, holds a stack    | Ready (resume)                      |
enum class Turn : std::uint8_t { kVacant, kIdle, kReady, kRunning, kOpening, kParked, kAway };

/// What few actors have; made when first needed. Owner.
struct Extras;

struct alignas(64) Slot {
  // --- any thread --------------------------------------------------------------------------------
  sync::Inbox<RealSync, Signal> inbox;
  sync::WaitWord<RealSync> wait;
  RealSync::atomic<std::uint32_t> generation;
  RealSync::atomic<std::uint16_t> home;
  RealSync::atomic<std::uint16_t> wanted_by;   // a core that asks it over; a hint [no pair]
  RealSync::atomic<std::uint32_t> mail;        // messages in a bounded mailbox
  RealSync::atomic<std::uint32_t> mail_bound;  // 0: not bounded
  Slot* next_arrival;                          // the holder of the inbox's right of notification
  Signal resume;                               // pushed by who has claimed `wait`

  // --- owner -------------------------------------------------------------------------------------
  Signal* oldest;  // the queue
  Signal* newest;
  void* state;
  Shown<const ActorClass*> kind;
  machine::Stack* stack;  // while it does not run here, in mid-handler
  Extras* extras;
  Shown<Pid> parent;
  Shown<std::uint32_t> length;  // of the queue
  std::uint16_t flags;
  Shown<Turn> turn;
  std::uint8_t stack_class;  // that it runs on, and kIsolated

  Timer timeout;                 // the receive timeout
  Timer* wait_timer;             // of the wait that it is parked in
  Slot* next_free;               // in a list of vacant slots; of ready ones without memory
  Shown<std::uint64_t> handled;  // messages
  std::uint32_t stays_until;     // does not move before; coarse time, balance.cpp
  std::uint16_t state_pool;      // whose memory the state is
  std::uint8_t state_class;
  Shown<bool> lives;  // between its generation's changes: has it been made, and not begun to end?

  static constexpr std::uint16_t kPinned = 1;         // never moves
  static constexpr std::uint16_t kStopAsked = 2;      // ends after this handler
  static constexpr std::uint16_t kUnwind = 4;         // ends at its next wait or activation
  static constexpr std::uint16_t kStartPending = 8;   // `started` has not returned yet
  static constexpr std::uint16_t kEnding = 16;        // its exit is being carried out
  static constexpr std::uint16_t kTimeoutArmed = 32;  // the countdown runs
  static constexpr std::uint16_t kTimeoutDue = 64;    // it has passed, the handler has not returned
  static constexpr std::uint16_t kTimeoutOver = 128;  // the handler has returned
  static constexpr std::uint16_t kSolo = 256;         // has its core to itself
  static constexpr std::uint16_t kMoving = 512;       // handed over, not yet adopted
  static constexpr std::uint16_t kHasTimeout = 1024;  // its class has a receive timeout
  static constexpr std::uint16_t kResumed = 2048;     // between begin_wait and park
  static constexpr std::uint16_t kReceiving = 4096;   // in a wait that any message ends
  static constexpr std::uint16_t kHearsStop = 8192;   // in a wait that a stop ends, but not unwinds
  static constexpr std::uint16_t kUnwinding = 16384;  // has been unwound, unless somebody caught it
  static constexpr std::uint16_t kRoams = 32768;      // any core may run it: commons.hpp

  /// Of a stack class: a fault of the actor ends it alone (trap.hpp). It lies there since it must
  /// cost nobody else a look.
  static constexpr std::uint8_t kIsolated = 128;
  [[nodiscard]] bool isolated() const noexcept { return (stack_class & kIsolated) != 0; }

  /// Of its signals: what is to be done when they are taken out of the queue.
  static constexpr std::uint8_t kMarks =
      Signal::kBounded | Signal::kTraced | Signal::kCrosses | Signal::kTick;

  [[nodiscard]] bool has(int flag) const noexcept { return (flags & flag) != 0; }
  void set(std::uint16_t flag) noexcept { flags = static_cast<std::uint16_t>(flags | flag); }
  void clear(std::uint16_t flag) noexcept { flags = static_cast<std::uint16_t>(flags & ~flag); }

  /// Owner: appends one signal.
  void append(Signal* signal) noexcept {
    signal->next = nullptr;
    if (oldest == nullptr) {
      oldest = signal;
    } else {
      newest->next = signal;
    }
    newest = signal;
    ++length;
  }

  /// Owner. The queue is not empty.
  [[nodiscard]] Signal* pop() noexcept {
    Signal* signal = oldest;
    oldest = signal->next;
    --length;
    return signal;
  }
};

/// In a bounded mailbox each message holds one place, from its admission until it is taken to be
/// handled, or dropped, by whomever. The count belongs to the slot, not to an incarnation: places
/// held by stragglers for an earlier actor come back when they are dropped, so it is never reset.
inline void give_place_back(Slot& slot, Signal& signal) noexcept {
  signal.flags = static_cast<std::uint8_t>(signal.flags & ~Signal::kBounded);
  slot.mail.fetch_sub(1, std::memory_order_relaxed);
}

/// Of a receive timeout.
[[nodiscard]] inline Slot& slot_of(Timer& timeout) noexcept {
  return *reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(&timeout) - offsetof(Slot, timeout));
}

static_assert(sizeof(Slot) == 192, "a slot is three cache lines");

}  // namespace bulkhead::core
