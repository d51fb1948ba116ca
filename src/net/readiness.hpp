// What is known of one descriptor: who owns it, who is at work on it, in which directions it may be
// ready, and who waits for that. Any thread may touch all of it at any time; there are no locks.
//
// The word holds a generation, which tells owners of the same number apart, and these bits:
//
// | bit     | meaning                          | set by              | cleared by  |
// |---------|----------------------------------|---------------------|-------------|
// | Open    | somebody owns the descriptor     | open                | vacate      |
// | Closing | the owner has closed it          | close               | vacate      |
// | Reading | an actor is at a read, or waits  | enter               | leave       |
// | Writing | an actor is at a write, or waits | enter               | leave       |
// | Held    | somebody is at a short call      | hold                | release     |
// | In      | a read may succeed               | open, report, leave | enter, look |
// | End     | a read will not run dry any more | report, leave       | enter, look |
// | Out     | a write may succeed              | open, report, leave | enter, look |
//
// Beside it there are places, each for one who waits: the reader, the writer, and the watch, which
// is to be told of either (watch.cpp). A place has the index of the waiter's slot, or of the
// watch's record, and the lowest bits of its wait's epoch.
//
// Rules
//  R1  Between enter and leave an actor has its direction to itself, and the descriptor stays open
//      in the kernel, so that its number is nobody else's; likewise between hold and release.
//      close() only marks; who finds the descriptor marked and nobody at work on it (one: the
//      closer, or the last who leaves) closes it, and before that vacates the word.
//  R2  Readiness is a hint. It is taken (cleared) before the system call that it is spent on, never
//      after: what becomes ready from then on sets it again. A call that has run dry (EAGAIN, or
//      fewer bytes than were asked for) has spent it; any other one puts it back when it leaves.
//  R3  A read that brought fewer bytes than asked for leaves nothing behind, except the end of the
//      stream: for that no new event comes when it was there before. So who took End puts it back.
//  R4  No readiness is lost: a waiter puts itself in its place and then looks at the word; a report
//      marks the word and then looks who waits. Both are sequentially consistent, so one sees the
//      other. [pair readiness.wait]  The same holds for close.
//  R5  A reporter may be late: the waiter that it has seen has gone. It claims only the wait whose
//      epoch it has seen; a newer waiter has looked at the word after the report.
//  R6  Reports of an earlier owner's events do no harm: see R2.
//  R7  A number that is opened while the word is Open was closed behind its owner's back. The
//      former owner is told that it is closed, and the new one goes on.
//  R8  An owner that has a descriptor to itself may give it away: the generation moves on in one
//      step, with all that is known of its readiness, so that of two who hold the number one owns
//      it. Not while somebody is at work on it, whose leave would be taken for an earlier owner's.
//  R9  A watch is at no operation, and takes no readiness: it puts itself in its place, and then
//      asks the kernel. What has become ready before that it sees; of what does so later it is told
//      [pair readiness.wait], and of a close. There is one: a later one takes the place, and tells
//      it. Then, or when it wants to wait again, it finds that the place is not its own.
// Checked by readiness_model.cpp.
#pragma once

#include <cstdint>

#include "sync/atomic.hpp"

namespace bulkhead::net {

enum class Direction : std::uint8_t { kRead, kWrite };

enum class Access : std::uint8_t {
  kOpen,
  kBusy,  // another actor is at work in this direction
  kClosed,
};

/// What a look at a direction has found. `ready` are the bits that were taken.
struct Look {
  Access access;
  std::uint64_t ready;
};

enum class Left : std::uint8_t { kLeft, kMustClose };
enum class Closed : std::uint8_t { kMustClose, kOthersClose, kAlready };

/// A new owner's generation, and whether the number was taken from an earlier owner (R7).
struct Opened {
  std::uint64_t generation;
  bool taken_over;
};

/// Who waits: the index of its slot, and the epoch of its wait, or its lowest bits.
struct Waiter {
  std::uint32_t slot;
  std::uint64_t epoch;
};
/// The same of a watch, which has a record instead, and its interest.
struct Watcher {
  std::uint32_t record;
  std::uint64_t epoch;
  std::uint64_t ready;  // which bits of readiness it is to be told of

  [[nodiscard]] bool is_nobody() const noexcept { return ready == 0; }
};

inline constexpr unsigned kEpochBits = 35;

/// `Waiters` has, for a Waiter and for a Watcher, `bool claim(of)`, where the epoch is kEpochBits
/// long, and `void wake(of)`, which is called after a claim.
template <class Sync, class Waiters>
class Readiness {
 public:
  static constexpr std::uint64_t kIn = 16;
  static constexpr std::uint64_t kOut = 32;
  static constexpr std::uint64_t kEnd = 64;

  /// Who has got the number from the kernel.
  [[nodiscard]] Opened open(Waiters& waiters) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::uint64_t fresh = 0;
    do {
      fresh = next_generation(word) | kOpen | kIn | kOut;
    } while (!word_.compare_exchange_weak(word, fresh, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    const bool taken_over = (word & kOpen) != 0;
    if (taken_over) wake_all(waiters);
    return {fresh >> kGenerationShift, taken_over};
  }

  /// An actor begins an operation; on kOpen it will leave.
  [[nodiscard]] Look enter(Direction direction, std::uint64_t generation) noexcept {
    return begin(operation(direction), ready_bits(direction), generation);
  }

  /// Anybody begins a call that does not wait, and that is of no direction. On kOpen they will
  /// release; on kBusy somebody else is at one, for a moment.
  [[nodiscard]] Access hold(std::uint64_t generation) noexcept {
    return begin(kHeld, 0, generation).access;
  }

  /// Within an operation: takes what there is of readiness.
  [[nodiscard]] Look look(Direction direction, std::uint64_t generation) noexcept {
    std::uint64_t word = word_.load(std::memory_order_seq_cst);
    for (;;) {
      if (!open_to(word, generation)) return {Access::kClosed, 0};
      if ((word & ready_bits(direction)) == 0) return {Access::kOpen, 0};
      if (word_.compare_exchange_weak(word, word & ~ready_bits(direction),
                                      std::memory_order_seq_cst, std::memory_order_seq_cst)) {
        return {Access::kOpen, word & ready_bits(direction)};
      }
    }
  }

  /// Within an operation: announces the wait, which has begun, then looks. Only when it finds
  /// nothing may the caller park; in any case it withdraws.
  [[nodiscard]] Look announce(Direction direction, std::uint64_t generation,
                              Waiter waiter) noexcept {
    place(direction).store(packed(waiter), std::memory_order_seq_cst);  // [pair readiness.wait]
    return look(direction, generation);
  }

  void withdraw(Direction direction, Waiter waiter) noexcept {
    // A swap, since after R7 another waiter may stand there.
    std::uint64_t mine = packed(waiter);
    static_cast<void>(place(direction).compare_exchange_strong(mine, 0, std::memory_order_relaxed,
                                                               std::memory_order_relaxed));
  }

  /// A watch takes the place, and then asks the kernel. Returns whose it was, for tell_displaced.
  [[nodiscard]] Watcher watch(Watcher watcher) noexcept {
    return unpacked(
        watch_.exchange(packed(watcher), std::memory_order_seq_cst));  // [pair readiness.wait]
  }
  static void tell_displaced(Watcher watcher, Waiters& waiters) noexcept {
    wake_watcher(watcher, kReady, waiters);
  }
  /// The watch of that record waits again, which no report knows of any more, and then asks the
  /// kernel. False when the place is another one's.
  [[nodiscard]] bool watch_again(Watcher watcher) noexcept {
    std::uint64_t before = watch_.load(std::memory_order_relaxed);
    return is_of(before, watcher.record) &&
           watch_.compare_exchange_strong(before, packed(watcher),
                                          std::memory_order_seq_cst,  // [pair readiness.wait]
                                          std::memory_order_relaxed);
  }
  /// The watch of that record gives the place up, if it still has it.
  void unwatch(std::uint32_t record) noexcept {
    std::uint64_t mine = watch_.load(std::memory_order_relaxed);
    while (is_of(mine, record) && !watch_.compare_exchange_weak(mine, 0, std::memory_order_relaxed,
                                                                std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] bool is_watched_by(std::uint32_t record) const noexcept {
    return is_of(watch_.load(std::memory_order_relaxed), record);
  }
  /// Whose the place is.
  [[nodiscard]] Watcher watcher() const noexcept {
    return unpacked(watch_.load(std::memory_order_relaxed));
  }

  /// Ends an operation, and puts readiness back. On kMustClose the caller closes the descriptor.
  [[nodiscard]] Left leave(Direction direction, std::uint64_t generation,
                           std::uint64_t put_back) noexcept {
    return end(operation(direction), put_back, generation);
  }
  [[nodiscard]] Left release(std::uint64_t generation) noexcept {
    return end(kHeld, 0, generation);
  }

  /// Any thread: something has happened to the descriptor, whoever owns it.
  void report(std::uint64_t ready, Waiters& waiters) noexcept {
    word_.fetch_or(ready, std::memory_order_seq_cst);  // [pair readiness.wait]
    if ((ready & ready_bits(Direction::kRead)) != 0) wake(Direction::kRead, waiters);
    if ((ready & ready_bits(Direction::kWrite)) != 0) wake(Direction::kWrite, waiters);
    tell_watch(ready, waiters);
  }

  /// Any thread. On kMustClose the caller closes the descriptor; else who leaves last does.
  [[nodiscard]] Closed close(std::uint64_t generation, Waiters& waiters) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    do {
      if (!open_to(word, generation)) return Closed::kAlready;
      // Seq_cst: as a report [pair readiness.wait]. Acquire: [pair readiness.leave].
    } while (!word_.compare_exchange_weak(word, word | kClosing, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    wake_all(waiters);
    return (word & kOperations) == 0 ? Closed::kMustClose : Closed::kOthersClose;
  }

  /// The owner, who has it to itself, gives it to another: from now on the next generation is its
  /// owner's, and a watch is told that it is over. False when it is closed, or somebody reads or
  /// writes. Who is at a short call is waited for.
  [[nodiscard]] bool hand_over(std::uint64_t generation, Waiters& waiters) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (!open_to(word, generation) || (word & (kReading | kWriting)) != 0) return false;
      if ((word & kHeld) != 0) {
        Sync::spin_hint();
        word = word_.load(std::memory_order_relaxed);
      } else if (word_.compare_exchange_weak(word, next_generation(word) | (word & kBits),
                                             std::memory_order_seq_cst,  // [pair readiness.wait]
                                             std::memory_order_relaxed)) {
        tell_watch(kReady, waiters);
        return true;
      }
    }
  }

  /// Who must close, before it does: from then on the number may be anybody's.
  void vacate() noexcept {
    word_.store(next_generation(word_.load(std::memory_order_relaxed)), std::memory_order_release);
  }

  [[nodiscard]] bool is_open(std::uint64_t generation) const noexcept {
    return open_to(word_.load(std::memory_order_acquire), generation);
  }

  /// Does anybody wait in this direction? A hint.
  [[nodiscard]] bool awaited(Direction direction) const noexcept {
    return places_[index(direction)].load(std::memory_order_relaxed) != 0;
  }
  /// Is there a watch, which may wait? A hint.
  [[nodiscard]] bool watched() const noexcept {
    return watch_.load(std::memory_order_relaxed) != 0;
  }

 protected:  // for models, which break it
  static constexpr std::uint64_t kOpen = 1;
  static constexpr std::uint64_t kClosing = 2;
  static constexpr std::uint64_t kReading = 4;
  static constexpr std::uint64_t kWriting = 8;
  static constexpr std::uint64_t kHeld = 128;
  static constexpr std::uint64_t kOperations = kReading | kWriting | kHeld;
  static constexpr unsigned kGenerationShift = 8;
  static constexpr std::uint64_t kBits = (std::uint64_t{1} << kGenerationShift) - 1;

  static constexpr std::uint64_t kReady = kIn | kEnd | kOut;

  // A place: slot + 1 above, lowest bits of the epoch below; 0 is nobody. That of a watch has
  // instead: record, whether it reads, whether it writes, epoch.
  static constexpr std::uint64_t kEpochMask = (std::uint64_t{1} << kEpochBits) - 1;
  static constexpr std::uint64_t kWatchesIn = std::uint64_t{1} << kEpochBits;
  static constexpr std::uint64_t kWatchesOut = kWatchesIn << 1;
  static constexpr unsigned kRecordShift = kEpochBits + 2;

  static constexpr unsigned index(Direction direction) noexcept {
    return static_cast<unsigned>(direction);
  }
  static constexpr std::uint64_t operation(Direction direction) noexcept {
    return direction == Direction::kRead ? kReading : kWriting;
  }
  static constexpr std::uint64_t ready_bits(Direction direction) noexcept {
    return direction == Direction::kRead ? kIn | kEnd : kOut;
  }
  static constexpr std::uint64_t next_generation(std::uint64_t word) noexcept {
    return ((word >> kGenerationShift) + 1) << kGenerationShift;
  }
  static constexpr bool open_to(std::uint64_t word, std::uint64_t generation) noexcept {
    return word >> kGenerationShift == generation && (word & (kOpen | kClosing)) == kOpen;
  }
  static constexpr std::uint64_t packed(Waiter waiter) noexcept {
    return (std::uint64_t{waiter.slot} + 1) << kEpochBits | (waiter.epoch & kEpochMask);
  }
  static constexpr std::uint64_t packed(Watcher watcher) noexcept {
    return std::uint64_t{watcher.record} << kRecordShift |
           ((watcher.ready & kIn) != 0 ? kWatchesIn : 0) |
           ((watcher.ready & kOut) != 0 ? kWatchesOut : 0) | (watcher.epoch & kEpochMask);
  }
  static constexpr Watcher unpacked(std::uint64_t place) noexcept {
    return {static_cast<std::uint32_t>(place >> kRecordShift), place & kEpochMask,
            ((place & kWatchesIn) != 0 ? kIn | kEnd : 0) | ((place & kWatchesOut) != 0 ? kOut : 0)};
  }
  static constexpr bool is_of(std::uint64_t place, std::uint32_t record) noexcept {
    return place != 0 && place >> kRecordShift == record;
  }

  Look begin(std::uint64_t operation_bit, std::uint64_t taken, std::uint64_t generation) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (!open_to(word, generation)) return {Access::kClosed, 0};
      if ((word & operation_bit) != 0) return {Access::kBusy, 0};
      // Acquire: what the last one has done [pair readiness.leave].
      if (word_.compare_exchange_weak(word, (word | operation_bit) & ~taken,
                                      std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return {Access::kOpen, word & taken};
      }
    }
  }

  Left end(std::uint64_t operation_bit, std::uint64_t put_back, std::uint64_t generation) noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      if (word >> kGenerationShift != generation) return Left::kLeft;
      next = (word & ~operation_bit) | put_back;
    } while (!word_.compare_exchange_weak(word, next,
                                          std::memory_order_acq_rel,  // [pair readiness.leave]
                                          std::memory_order_relaxed));
    return (next & (kClosing | kOperations)) == kClosing ? Left::kMustClose : Left::kLeft;
  }

  using Word = typename Sync::template atomic<std::uint64_t>;

  Word& place(Direction direction) noexcept { return places_[index(direction)]; }

  void wake(Direction direction, Waiters& waiters) noexcept {
    const std::uint64_t seen =
        place(direction).load(std::memory_order_seq_cst);  // [pair readiness.wait]
    if (seen == 0) return;
    const Waiter waiter{static_cast<std::uint32_t>((seen >> kEpochBits) - 1), seen & kEpochMask};
    if (waiters.claim(waiter)) waiters.wake(waiter);  // R5
  }

  void tell_watch(std::uint64_t ready, Waiters& waiters) noexcept {
    wake_watcher(unpacked(watch_.load(std::memory_order_seq_cst)),  // [pair readiness.wait]
                 ready, waiters);
  }
  static void wake_watcher(Watcher watcher, std::uint64_t ready, Waiters& waiters) noexcept {
    if ((watcher.ready & ready) != 0 && waiters.claim(watcher)) waiters.wake(watcher);
  }

  void wake_all(Waiters& waiters) noexcept {
    wake(Direction::kRead, waiters);
    wake(Direction::kWrite, waiters);
    tell_watch(kReady, waiters);
  }

  Word word_{0};
  Word places_[2] = {};
  Word watch_{0};
};

}  // namespace bulkhead::net
