// The memory that model threads share, as C++20 sees it.
//
// Each location holds every value that was stored to it, in modification order. Each thread has a
// view: the oldest place in the order of each location that it may still read. A store carries the
// view of who released it; an acquire takes that over. From this follow coherence, message passing,
// release sequences and fences. Sequentially consistent operations share one more view, by these
// rules, which restate [atomics.order]/4 for executions in the order in which we run them:
//  - an access of that kind to x reads or writes at or after the place of x in the shared view, and
//    moves that place to its own;
//  - a fence of that kind exchanges all places: both views become the later of the two.
//
// The first kMaxThreads entries of a view are a vector clock, which tells what happens before what;
// fences of the last kind do not exchange these.
//
// A store may also come earlier in modification order than stores that were executed before it, as
// far as the thread's view allows. What is left out: a load never reads a store that is executed
// later (no load buffering). In sequential mode every location holds its last value only.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bulkhead::model {

inline constexpr unsigned kMaxThreads = 8;  // with the one that sets up and finishes, number 0

using Tick = std::uint32_t;

enum class MemoryMode : std::uint8_t { kSequential, kWeak };

struct ValueType;

struct Message {
  std::uint64_t value = 0;
  Tick stamp = 0;  // grows along modification order
  Tick born = 0;   // the step that stored it
  std::uint32_t id = 0;
  std::uint8_t by = 0;
  bool attached = false;  // a read-modify-write of the one before: nothing may come between them
  std::span<const Tick> view{};  // what an acquire of it takes over
};

struct Location {
  std::vector<Message> history;  // in modification order
  const void* owner = nullptr;   // the atomic
  const ValueType* type = nullptr;
  std::uint32_t number = 0;
  std::uint32_t stored = 0;  // messages so far
  Tick woken = 0;            // no sleeper reads what comes before this
  Tick made_at = 0;
  std::uint8_t made_by = 0;
  std::uint8_t sleepers = 0;  // mask of threads
  bool dead = false;
  std::array<Tick, kMaxThreads> touched{};  // each thread's clock at its last access
};

enum class OpKind : std::uint8_t {
  kLoad,
  kStore,
  kModify,
  kCompare,
  kFence,
  kWait,
  kWake,
  kTimeOut
};

using Modify = std::uint64_t (*)(std::uint64_t old, std::uint64_t operand);

/// What a thread is about to do.
struct Op {
  OpKind kind = OpKind::kLoad;
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failure = std::memory_order_relaxed;
  bool may_fail = false;  // a weak compare-and-swap
  Location* at = nullptr;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  Modify modify = nullptr;
  const char* name = "";
};

enum class Outcome : std::uint8_t { kDone, kFails, kSpurious, kSleeps };

/// One of the ways in which an operation can go: the message that it reads, or comes after.
struct Option {
  std::uint16_t message;
  Outcome outcome;
};

class OptionList {
 public:
  void clear() noexcept {
    size_ = 0;
    overflowed_ = false;
  }
  void add(std::size_t message, Outcome outcome) noexcept {
    if (size_ == kCapacity) return overflow();
    options_[size_++] = {static_cast<std::uint16_t>(message), outcome};
  }
  /// There are more ways than we can try.
  void overflow() noexcept { overflowed_ = true; }
  [[nodiscard]] unsigned size() const noexcept { return size_; }
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  [[nodiscard]] Option operator[](unsigned i) const noexcept { return options_[i]; }

 private:
  static constexpr unsigned kCapacity = 64;
  std::array<Option, kCapacity> options_;
  unsigned size_ = 0;
  bool overflowed_ = false;
};

/// What an operation may do beside going on with the newest message.
struct Freedom {
  bool spurious;  // fail for no reason
  bool stale;     // read, or come behind, an older one
};

enum class Access : std::uint8_t { kFine, kDead, kUnordered };

/// The history of a piece of plain memory.
struct PlainHistory {
  std::uint8_t writer = 0;
  bool dead = false;
  Tick written = 0;
  std::array<Tick, kMaxThreads> read{};
};

class Memory {
 public:
  explicit Memory(MemoryMode mode) : mode_(mode) {}

  static constexpr std::size_t kMaxLocations = 1 << 12;

  /// Forgets all, for the next execution.
  void reset();
  [[nodiscard]] bool full() const noexcept { return used_ == kMaxLocations; }

  [[nodiscard]] Location& create(unsigned thread, const void* owner, const ValueType& type,
                                 std::uint64_t value, Tick now);
  /// kUnordered: nothing orders some thread's access before this.
  [[nodiscard]] Access destroy(unsigned thread, Location& at);
  /// To be called before each access. kUnordered: nothing orders the construction before this.
  [[nodiscard]] Access touch(unsigned thread, Location& at);

  /// The ways in which `op` can go, the newest message first; only those that rest on a message
  /// younger than `since`.
  void options(const Op& op, unsigned thread, Tick since, Freedom freedom, OptionList& list) const;

  void read(unsigned thread, Location& at, std::size_t message, std::memory_order order);
  /// Stores behind message `after`.
  void write(unsigned thread, Location& at, std::size_t after, std::uint64_t value,
             std::memory_order order, Tick now);
  /// Reads message `from` and stores right behind it.
  void modify(unsigned thread, Location& at, std::size_t from, std::uint64_t value,
              std::memory_order order, Tick now);
  /// Stores while no other thread runs.
  void overwrite(Location& at, std::uint64_t value);

  void fence(unsigned thread, std::memory_order order);
  /// A wake: sleepers from now on see the word at least as this thread does.
  void wake(unsigned thread, Location& at);
  /// The place of the first message behind `id` with another value, or of none: could a thread
  /// that has read `id` read something else now?
  [[nodiscard]] std::size_t other_value(const Location& at, std::uint32_t id,
                                        std::uint64_t value) const;
  /// The thread reads nothing any more that comes before `message`.
  void pass_to(unsigned thread, Location& at, std::size_t message);

  [[nodiscard]] Access read_plain(unsigned thread, PlainHistory& at);
  [[nodiscard]] Access write_plain(unsigned thread, PlainHistory& at);

  /// The thread starts, or another step of it: what it does from now on is not known to those who
  /// have acquired what it has released.
  void advance(unsigned thread) noexcept { ++threads_[thread].now[thread]; }
  /// `to` sees all that `from` has seen.
  void inherit(unsigned to, unsigned from);

 private:
  using View = std::vector<Tick>;

  struct ThreadViews {
    View now;
    View acquirable;  // of what was read relaxed, for the next acquire fence
    View released;    // at the last release fence
    bool has_acquirable = false;
    bool has_released = false;
  };

  class Arena {
   public:
    Tick* take(std::size_t count);
    void reset() noexcept { chunk_ = used_ = 0; }

   private:
    static constexpr std::size_t kChunk = 1 << 14;
    std::vector<std::unique_ptr<Tick[]>> chunks_;
    std::size_t chunk_ = 0;
    std::size_t used_ = 0;
  };

  [[nodiscard]] static std::size_t slot(const Location& at) noexcept {
    return kMaxThreads + at.number;
  }
  [[nodiscard]] std::size_t width() const noexcept {
    return mode_ == MemoryMode::kWeak ? kMaxThreads + used_ : kMaxThreads;
  }
  void widen(std::size_t slot);
  [[nodiscard]] bool sees(unsigned thread, unsigned other, Tick when) const noexcept {
    return other == thread || threads_[thread].now[other] >= when;
  }
  [[nodiscard]] Tick floor(unsigned thread, const Location& at, std::memory_order order) const;
  [[nodiscard]] std::span<const Tick> publish(unsigned thread, std::memory_order order,
                                              std::span<const Tick> inherited);
  void insert(Location& at, std::size_t after, Message message);
  void move_to(unsigned thread, const Location& at, Tick stamp, std::memory_order order);

  MemoryMode mode_;
  std::array<ThreadViews, kMaxThreads> threads_;
  View consistent_;  // the view that sequentially consistent operations share
  std::vector<std::unique_ptr<Location>> locations_;
  std::size_t used_ = 0;
  Arena arena_;
};

[[nodiscard]] constexpr bool acquires(std::memory_order order) noexcept {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
[[nodiscard]] constexpr bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace bulkhead::model
