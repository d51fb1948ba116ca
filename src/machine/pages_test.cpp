#include "machine/pages.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>

#include "machine/stack.hpp"
#include "support/process.hpp"

namespace bulkhead::machine {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

TEST(Pages, are_reserved_aligned_and_cost_no_memory) {
  const std::size_t before = support::resident_bytes();
  void* range = reserve_aligned(std::size_t{1} << 35, kHugePageBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range) % kHugePageBytes, 0u);
  EXPECT_LT(support::resident_bytes(), before + kMebibyte);
  release(range, std::size_t{1} << 35);
}

TEST(Pages, that_are_reserved_only_cannot_be_touched) {
  auto* range = static_cast<std::byte*>(reserve_aligned(8 * kMebibyte, kHugePageBytes));
  const support::Ended child = support::run_in_child([range] {
    std::signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(range) = std::byte{1};
  });
  EXPECT_EQ(child.signal, SIGSEGV);
  release(range, 8 * kMebibyte);
}

TEST(Pages, that_are_committed_read_as_zero_and_keep_what_is_written) {
  auto* range = static_cast<std::byte*>(reserve_aligned(8 * kMebibyte, kHugePageBytes));
  commit(range + 2 * kMebibyte, 2 * kMebibyte);
  prefer_huge_pages(range + 2 * kMebibyte, 2 * kMebibyte);
  for (std::size_t i = 0; i < 2 * kMebibyte; i += 4096) {
    ASSERT_EQ(range[2 * kMebibyte + i], std::byte{0});
  }
  std::memset(range + 2 * kMebibyte, 7, 2 * kMebibyte);
  EXPECT_EQ(range[4 * kMebibyte - 1], std::byte{7});
  release(range, 8 * kMebibyte);
}

TEST(Pages, that_are_discarded_give_their_memory_back_and_read_as_zero) {
  auto* range = static_cast<std::byte*>(reserve_aligned(64 * kMebibyte, kHugePageBytes));
  commit(range, 64 * kMebibyte);
  std::memset(range, 7, 64 * kMebibyte);
  const std::size_t used = support::resident_bytes();
  discard(range, 64 * kMebibyte);
  EXPECT_LT(support::resident_bytes(), used - 60 * kMebibyte);
  EXPECT_EQ(range[0], std::byte{0});
  range[0] = std::byte{1};
  EXPECT_EQ(range[0], std::byte{1});
  release(range, 64 * kMebibyte);
}

TEST(Pages, that_are_guarded_fault_also_after_a_discard_and_split_no_mapping) {
  auto* range = static_cast<std::byte*>(reserve_aligned(2 * kMebibyte, kHugePageBytes));
  commit(range, 2 * kMebibyte);
  avoid_huge_pages(range, 2 * kMebibyte);
  const std::size_t page = page_bytes();
  const std::size_t mappings = support::mappings();
  range[page] = std::byte{7};
  ASSERT_EQ(guard(range + page, page), supported_guard() == GuardKind::kMadvise);
  EXPECT_EQ(support::mappings(), mappings);
  discard(range, 2 * kMebibyte);
  range[page - 1] = std::byte{1};
  range[2 * page] = std::byte{1};
  const support::Ended child = support::run_in_child([range, page] {
    std::signal(SIGSEGV, SIG_DFL);
    static_cast<volatile std::byte*>(range)[page] = std::byte{1};
  });
  EXPECT_EQ(child.signal, supported_guard() == GuardKind::kMadvise ? SIGSEGV : 0);
  release(range, 2 * kMebibyte);
}

TEST(Pages, that_cannot_be_had_are_a_bad_alloc) {
  EXPECT_THROW(static_cast<void>(reserve_aligned(std::size_t{1} << 60, kHugePageBytes)),
               std::bad_alloc);
}

// A5
TEST(NodePolicy, of_this_machine_is_consistent) {
  const NodePolicy& machine = NodePolicy::machine();
  EXPECT_GE(machine.nodes(), 1);
  EXPECT_GE(machine.node_of_cpu(0), kAnyNode);
  EXPECT_LT(machine.node_of_cpu(0), machine.nodes());
  EXPECT_EQ(&machine, &NodePolicy::machine());
  auto* range = static_cast<std::byte*>(reserve_aligned(4 * kMebibyte, kHugePageBytes));
  commit(range, 4 * kMebibyte);
  machine.place(range, 2 * kMebibyte, kAnyNode);
  machine.place(range + 2 * kMebibyte, 2 * kMebibyte, machine.node_of_cpu(0));
  std::memset(range, 1, 4 * kMebibyte);
  release(range, 4 * kMebibyte);
}

}  // namespace
}  // namespace bulkhead::machine
