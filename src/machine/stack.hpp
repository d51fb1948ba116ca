// Stacks: reserved in slabs, each above a guard region, recycled newest first.
//
// From low to high addresses, a stack of `size` bytes is
//     [ guard region, guard_bytes() ][ ... usable ... ][ Stack record ]
//                                    |<---------- size ------------->|
// The record lies at the top, out of the way of an overflow, which runs into the guard. From one
// stack to the next is an odd number of pages: of most stacks only the topmost page is used, and
// were those a power of two apart, a few sets of the translation buffer would hold them all.
//
// Guards are made by MADV_GUARD_INSTALL where the kernel really has it (6.13 and newer): it splits
// no mapping, so that a million guarded stacks fit in a process; else by mprotect, which does, so
// that vm.max_map_count limits their number to about half of it. A part of that limit is left to
// the rest of the process (kMappingsLeft): a process that has none left cannot even allocate, and
// the error that says so would not be heard.
//
// Threads: a StackPool belongs to one core. The StackStore behind it is shared and locked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/fork.hpp"
#include "machine/switch.hpp"

namespace bulkhead::core {
class Core;
struct Slot;
struct ThreadSeat;
struct Told;
}  // namespace bulkhead::core
namespace bulkhead {
class Exit;
struct CrashReport;
struct Signal;
struct SignalOps;
}  // namespace bulkhead

namespace bulkhead::machine {

inline constexpr std::size_t kMinStackBytes = 16 * 1024;
inline constexpr std::size_t kMaxStackBytes = 1024 * 1024 * 1024;
inline constexpr std::size_t kMappingsPerGuard = 2;
inline constexpr std::size_t kMappingsLeft = 2048;

/// What the C++ runtime keeps per thread about exceptions in flight, and what is switched with a
/// stack: an actor may block inside a catch block.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

/// The record at the top of each stack. All of it belongs to the core that runs or holds the stack.
struct alignas(64) Stack {
  core::Core* core = nullptr;        // whose loop runs on this stack; set anew by who resumes it
  core::ThreadSeat* seat = nullptr;  // of the thread that runs on this stack; likewise
  const SignalOps* in_hand_ops = nullptr;  // of the signal whose handler runs here; null when none
  Signal* in_hand = nullptr;     // that signal, null once released; only while there is one
  const Exit* exit = nullptr;    // of the actor that is being ended here
  CrashReport* crash = nullptr;  // and what is to be told of it
  core::Told* told = nullptr;    // with that, where a trap could part it from who holds it
  std::uint32_t handled = 0;     // messages of this batch, of an isolated actor
  std::uint32_t dropped = 0;     // and those that were dropped when it failed
  bool asked = false;            // it is being asked for its receive timeout
  StackPointer saved = nullptr;  // where to go on, while the stack is left
  Stack* next = nullptr;         // in a free list
  ExceptionState exceptions;     // while the stack is left
  std::uint8_t size_class = 0;   // the size is kMinStackBytes << size_class
  void* sanitizer = nullptr;     // fiber of TSan, or fake stack of ASan while the stack is left
  std::byte* bottom = nullptr;   // lowest usable byte
  std::size_t thread_bytes = 0;  // the size, for a record that stands for a thread's own stack

  [[nodiscard]] std::size_t size() const noexcept {
    return thread_bytes != 0 ? thread_bytes : kMinStackBytes << size_class;
  }
  /// Where the first frame starts.
  [[nodiscard]] StackPointer top() noexcept { return this; }
};

/// Of the guard region below each stack: 64 KiB and a page.
[[nodiscard]] std::size_t guard_bytes() noexcept;

/// The smallest class of at least `bytes` bytes. `bytes` within the limits above.
[[nodiscard]] std::uint8_t stack_class(std::size_t bytes) noexcept;

enum class GuardKind : std::uint8_t { kMadvise, kMprotect };

/// Which kind this kernel supports, found out by trying it, once.
[[nodiscard]] GuardKind supported_guard();

/// The kernel's vm.max_map_count, as it is now; its default where it cannot be read.
[[nodiscard]] std::size_t most_mappings();

/// How many bytes of a stack have been touched, at most: from its top down to the lowest page that
/// is in memory. Whole pages; pages that were swapped out do not count.
[[nodiscard]] std::size_t touched_bytes(const Stack& stack) noexcept;
/// Gives the pages of the running stack below the caller's frame back to the kernel.
void discard_below(const Stack& running, const void* frame) noexcept;

/// The process's stacks: those that no core holds. Any thread; locked inside.
class StackStore {
 public:
  static constexpr std::size_t kClasses = 17;

  /// At most one store per process in production; tests make their own, and with another limit on
  /// mappings than the kernel's.
  explicit StackStore(GuardKind guard, std::size_t (*limit)() = &most_mappings)
      : guard_(guard), limit_(limit), most_mappings_(limit()) {}
  StackStore(const StackStore&) = delete;
  StackStore& operator=(const StackStore&) = delete;
  ~StackStore();

  static StackStore& process();

  /// A stack whose pages are zero. Throws std::runtime_error when the kernel gives no more, and
  /// says which limit to raise; std::bad_alloc.
  [[nodiscard]] Stack* take(std::uint8_t size_class);
  /// Gives a chain back; its memory, records and all, is returned to the kernel, its addresses are
  /// kept.
  void give(Stack* chain) noexcept;

  [[nodiscard]] std::size_t reserved_bytes() const noexcept;

 private:
  // A mapping that stacks of one class are carved from, lowest first.
  struct Slab {
    Slab* older;
    std::byte* begin;
    std::byte* fresh;
    std::byte* end;
  };

  std::byte* carve(std::uint8_t size_class);
  Slab* reserve(std::uint8_t size_class);
  void install_guard(std::byte* guard);
  void count_guard_mappings();
  [[noreturn]] void refuse(const char* step, int error) const;

  GuardKind guard_;
  std::size_t (*limit_)();
  std::size_t most_mappings_;
  std::size_t guards_ = 0;  // by mprotect
  mutable ForkMutex lock_{Nesting::kInner};
  // By their bottoms, and outside of them, so that a free stack has no page. There is room for all
  // that were ever carved: giving back cannot fail.
  std::vector<std::byte*> free_[kClasses];
  std::size_t carved_[kClasses] = {};
  Slab* slabs_[kClasses] = {};
  std::size_t reserved_ = 0;
};

/// A core's own free stacks.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool() { drain(); }

  [[nodiscard]] Stack* take(std::uint8_t size_class) {
    Stack* stack = free_[size_class];
    if (stack == nullptr) [[unlikely]]
      return StackStore::process().take(size_class);
    free_[size_class] = stack->next;
    --held_[size_class];
    return stack;
  }

  /// The stack may still be the one that runs: it is not touched again before the next take.
  void give(Stack* stack) noexcept {
    stack->next = free_[stack->size_class];
    free_[stack->size_class] = stack;
    ++held_[stack->size_class];
  }

  /// Hands all but `keep` stacks of each class back to the store. Not while a given stack runs.
  void trim(std::uint32_t keep) noexcept;
  void drain() noexcept { trim(0); }

 private:
  Stack* free_[StackStore::kClasses] = {};
  std::uint32_t held_[StackStore::kClasses] = {};
};

}  // namespace bulkhead::machine
