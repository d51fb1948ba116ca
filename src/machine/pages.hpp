// Memory from the kernel: address ranges that are reserved at once and committed as needed, and
// chunks for the pools, placed on a memory node where the machine has several.
#pragma once

#include <cstddef>
#include <new>

namespace bulkhead::machine {

inline constexpr int kAnyNode = -1;
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Where memory should lie. The policy is an interface so that it can be tested on a machine with
/// one node.
class NodePolicy {
 public:
  NodePolicy() = default;
  NodePolicy(const NodePolicy&) = delete;
  NodePolicy& operator=(const NodePolicy&) = delete;
  virtual ~NodePolicy() = default;

  /// How many memory nodes there are; 1 when the machine does not tell.
  [[nodiscard]] virtual int nodes() const = 0;
  /// The node of a CPU, 0 .. nodes() - 1, or kAnyNode.
  [[nodiscard]] virtual int node_of_cpu(int cpu) const = 0;
  /// Asks that pages of this range be taken from `node` when they are first touched.
  virtual void place(void* begin, std::size_t bytes, int node) const = 0;

  /// What this machine has: libnuma where it is present, one node otherwise.
  static const NodePolicy& machine();
};

/// Says how much was wanted, and what the limit is.
class NoAddressSpace : public std::bad_alloc {
 public:
  explicit NoAddressSpace(std::size_t bytes) noexcept;
  [[nodiscard]] const char* what() const noexcept override { return text_; }

 private:
  char text_[128];
};

/// Reserves address space without memory, aligned to `alignment` (a power of two, at least a page).
/// Throws NoAddressSpace.
[[nodiscard]] void* reserve_aligned(std::size_t bytes, std::size_t alignment);
/// Does a reservation take time in proportion to its size? So it is in emulators of user mode (QEMU
/// before 8.1: 10 s for 1 TiB). They are known by what every kernel has and they have not, a vDSO.
[[nodiscard]] bool reserving_takes_time() noexcept;
/// How much memory the machine has.
[[nodiscard]] std::size_t memory_bytes() noexcept;
/// Makes reserved pages usable; they read as zero. Throws std::bad_alloc.
void commit(void* begin, std::size_t bytes);
/// Asks for huge pages: a burst then costs one fault per 2 MiB instead of 512.
void prefer_huge_pages(void* begin, std::size_t bytes) noexcept;
/// Asks for none: a huge page would make much of what is touched little.
void avoid_huge_pages(void* begin, std::size_t bytes) noexcept;
/// Makes pages fault when they are touched, where the kernel has guards that split no mapping;
/// their memory is returned, and discard() leaves them guarded. False when it has not, or has no
/// memory.
[[nodiscard]] bool guard(void* begin, std::size_t bytes) noexcept;
[[nodiscard]] std::size_t page_bytes() noexcept;
/// Returns the memory of committed pages to the kernel; they stay usable and read as zero.
void discard(void* begin, std::size_t bytes) noexcept;
/// Gives reserved address space up.
void release(void* begin, std::size_t bytes) noexcept;

}  // namespace bulkhead::machine
