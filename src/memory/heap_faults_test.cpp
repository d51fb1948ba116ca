// B2: what a heap finds to be wrong, and that it writes nowhere then: blocks freed twice, blocks
// of others, overwritten headers and links, runs over the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "machine/stack.hpp"
#include "memory/heap.hpp"
#include "support/process.hpp"

namespace bulkhead::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::jmp_buf landing;
const char* told = nullptr;

/// What is told of while `function` runs, which is left at that point; empty if nothing is.
template <class Function>
std::string fault_in(Function function) {
  told = nullptr;
  const HeapFault before = set_heap_fault([](const char* what) {
    told = what;
    std::longjmp(landing, 1);
  });
  if (setjmp(landing) == 0) function();
  set_heap_fault(before);
  return told != nullptr ? told : "";
}

constexpr const char* kTwice = "a block was freed twice";
constexpr const char* kNoBlock = "what was freed is no block in use of this heap";
constexpr const char* kFreeWritten = "a free block was written to";
constexpr const char* kHeaderWritten = "a block's header was overwritten";

/// A heap, and two others which must stay as they are.
class HeapFaults : public testing::Test {
 protected:
  void SetUp() override {
    for (Heap* other : {before, after}) {
      for (int i = 0; i < 200; ++i) {
        auto* p = static_cast<unsigned char*>(other->allocate(100));
        std::memset(p, 0x77, other->usable_size(p));
        contents.emplace_back(p, other->usable_size(p));
      }
    }
  }
  void TearDown() override {
    heap->discard();
    for (const auto& [p, bytes] : contents) {
      EXPECT_TRUE(std::all_of(p, p + bytes, [](unsigned char c) { return c == 0x77; }));
    }
    for (Heap* other : {before, after}) {
      EXPECT_STREQ(other->audit(), nullptr);
      EXPECT_EQ(other->live_blocks(), 200u);
      other->discard();
    }
    // The heap that was corrupted is as good as new.
    Heap* next = Heap::take(kMiB);
    for (int i = 0; i < 1000; ++i) EXPECT_NE(next->allocate(100), nullptr);
    EXPECT_STREQ(next->audit(), nullptr);
    next->discard();
  }

  std::string freeing(void* p) {
    return fault_in([this, p] { heap->release(p); });
  }

  Heap* before = Heap::take(kMiB);
  Heap* heap = Heap::take(8 * kMiB);
  Heap* after = Heap::take(kMiB);
  std::vector<std::pair<unsigned char*, std::size_t>> contents;
};

TEST_F(HeapFaults, finds_blocks_that_are_freed_twice) {
  for (const std::size_t bytes : {8u, 64u, 1000u, 5000u, 40'000u, 2'000'000u}) {
    void* p = heap->allocate(bytes);
    void* q = heap->allocate(bytes);
    heap->release(p);
    const std::string what = freeing(p);
    EXPECT_EQ(what, bytes > 32'760 ? kNoBlock : kTwice) << bytes;
    heap->release(q);
    EXPECT_NE(freeing(p), "") << bytes;
    EXPECT_NE(freeing(q), "") << bytes;
  }
}

TEST_F(HeapFaults, finds_blocks_that_are_freed_twice_after_they_were_merged) {
  std::vector<void*> blocks(1000);
  for (void*& p : blocks) p = heap->allocate(64);
  for (void* p : blocks) heap->release(p);
  heap->merge();
  for (void* p : blocks) EXPECT_NE(freeing(p), "");
  EXPECT_STREQ(heap->audit(), nullptr);
  EXPECT_EQ(heap->live_blocks(), 0u);
}

TEST_F(HeapFaults, finds_what_is_no_block_of_the_heap) {
  auto* p = static_cast<std::byte*>(heap->allocate(1000));
  std::memset(p, 0, 1000);
  const auto from_new = std::make_unique<std::byte[]>(100);
  std::byte local[64] = {};
  EXPECT_EQ(freeing(contents[7].first), kNoBlock) << "of another heap";
  EXPECT_EQ(freeing(p + 16), kNoBlock);
  EXPECT_EQ(freeing(p + 8), kNoBlock);
  EXPECT_EQ(freeing(p + 1), kNoBlock);
  EXPECT_EQ(freeing(from_new.get() + 32), kNoBlock);
  EXPECT_EQ(freeing(local + 32), kNoBlock);
  EXPECT_EQ(fault_in([&] { static_cast<void>(heap->usable_size(p + 16)); }),
            "what was asked about is no block");
  heap->release(p);
  EXPECT_STREQ(heap->audit(), nullptr);
}

TEST_F(HeapFaults, finds_aligned_blocks_that_are_freed_twice) {
  for (const std::size_t alignment : {32u, 256u, 4096u}) {
    static_cast<void>(heap->allocate(8));
    void* p = heap->allocate(100, alignment);
    heap->release(p);
    EXPECT_NE(freeing(p), "") << alignment;
    EXPECT_STREQ(heap->audit(), nullptr);
  }
}

TEST_F(HeapFaults, finds_a_header_that_a_neighbour_ran_over) {
  for (const std::size_t bytes : {24u, 500u, 3000u, 50'000u}) {
    auto* p = static_cast<unsigned char*>(heap->allocate(bytes));
    auto* q = static_cast<unsigned char*>(heap->allocate(bytes));
    const std::size_t usable = heap->usable_size(p);
    while (p + usable + 8 != q) {
      p = q;
      q = static_cast<unsigned char*>(heap->allocate(bytes));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      for (const unsigned char bit : std::array<unsigned char, 3>{0x01, 0x10, 0x80}) {
        p[usable + i] ^= bit;
        EXPECT_EQ(freeing(q), kNoBlock) << bytes << ' ' << i;
        EXPECT_EQ(fault_in([&] { heap->merge(); }), kHeaderWritten) << bytes << ' ' << i;
        p[usable + i] ^= bit;
        heap->merge();
      }
    }
    EXPECT_STREQ(heap->audit(), nullptr);
    heap->release(p);
    heap->release(q);
  }
}

TEST_F(HeapFaults, finds_writes_to_freed_blocks) {
  for (const std::size_t bytes : {8u, 64u, 1000u, 5000u, 20'000u}) {
    for (std::size_t i = 0; i < 8; ++i) {
      auto* p = static_cast<unsigned char*>(heap->allocate(bytes));
      auto* q = static_cast<unsigned char*>(heap->allocate(bytes));
      heap->release(q);
      heap->release(p);
      p[i] ^= 0x10;
      EXPECT_EQ(fault_in([&] { static_cast<void>(heap->allocate(bytes)); }), kFreeWritten);
      EXPECT_EQ(fault_in([&] { heap->merge(); }), kHeaderWritten);
      p[i] ^= 0x10;
      heap->merge();
    }
    EXPECT_STREQ(heap->audit(), nullptr);
  }
}

// A link that leads to the stack, to another heap, into a block in use, or nowhere.
TEST_F(HeapFaults, follows_no_link_that_was_overwritten) {
  auto* used = static_cast<unsigned char*>(heap->allocate(1000));
  std::uint64_t local[8] = {};
  for (void* target : {static_cast<void*>(local), static_cast<void*>(contents[3].first),
                       static_cast<void*>(used + 24), reinterpret_cast<void*>(0x10),
                       reinterpret_cast<void*>(UINTPTR_MAX - 7)}) {
    void* p = heap->allocate(64);
    heap->release(p);
    std::memcpy(p, &target, sizeof target);
    EXPECT_EQ(fault_in([&] { static_cast<void>(heap->allocate(64)); }), kFreeWritten);
    target = nullptr;
    std::memcpy(p, &target, sizeof target);
  }
  EXPECT_TRUE(std::all_of(local, local + 8, [](std::uint64_t word) { return word == 0; }));
  EXPECT_STREQ(heap->audit(), nullptr);
}

TEST_F(HeapFaults, finds_writes_to_free_runs) {
  auto* p = static_cast<unsigned char*>(heap->allocate(100'000));
  static_cast<void>(heap->allocate(8));
  heap->release(p);
  for (const std::ptrdiff_t at : {-8, -5, -1, 0, 5}) {
    p[at] ^= 4;
    EXPECT_EQ(fault_in([&] { static_cast<void>(heap->allocate(100'000)); }), kFreeWritten) << at;
    p[at] ^= 4;
  }
  EXPECT_EQ(heap->allocate(100'000), p);
}

// All that an actor can reach of its heap is overwritten.
TEST_F(HeapFaults, survives_that_all_of_its_memory_is_overwritten) {
  for (const int with : {0, 0xff, 0x5a}) {
    std::vector<unsigned char*> blocks(2000);
    std::size_t size = 16;
    for (unsigned char*& p : blocks) {
      p = static_cast<unsigned char*>(heap->allocate(size));
      size = size * 7 % 997 + 8;
    }
    for (std::size_t i = 0; i < blocks.size(); i += 3) heap->release(blocks[i]);
    for (unsigned char* p : blocks) std::memset(p - 8, with, 16);
    for (std::size_t i = 1; i < blocks.size(); i += 3) EXPECT_NE(freeing(blocks[i]), "");
    for (std::size_t bytes = 8; bytes < 1000; bytes += 16) {
      static_cast<void>(fault_in([&] { static_cast<void>(heap->allocate(bytes)); }));
    }
    EXPECT_NE(fault_in([&] { heap->merge(); }), "");
    EXPECT_STRNE(heap->audit(), nullptr);
    heap->discard();
    heap = Heap::take(8 * kMiB);
  }
}

TEST_F(HeapFaults, are_told_and_end_the_process_if_nobody_takes_care) {
  const auto aborted = support::run_in_child([this] {
    void* p = heap->allocate(64);
    heap->release(p);
    heap->release(p);
  });
  EXPECT_EQ(aborted.signal, SIGABRT);
  const std::string line = "bulkhead: the heap of an actor is corrupted: ";
  EXPECT_TRUE(aborted.errors.starts_with(line + kTwice + "\n")) << aborted.errors;
  const auto returned = support::run_in_child([this] {
    set_heap_fault([](const char*) {});
    heap->release(heap);
  });
  EXPECT_EQ(returned.signal, SIGABRT);
}

// The guard at the end of a segment, where the kernel has it: who runs on meets it, and not the
// next heap's memory.
TEST_F(HeapFaults, a_run_over_the_end_of_a_segment_ends_at_its_guard) {
  for (const std::size_t bytes : {64u, 20'000u, 3'000'000u}) {
    void* last = nullptr;
    const SegmentId first = heap_range.segment_at(heap_range.offset(heap->allocate(bytes)));
    const Unit& unit = heap_range.unit(first);
    const std::byte* end = heap_range.begin(first) + usable_bytes(unit);
    for (void* p = heap->allocate(bytes); p != nullptr && p < end; p = heap->allocate(bytes)) {
      if (p >= heap_range.begin(first)) last = p;
    }
    const auto overrun = [&] {
      volatile auto* at = static_cast<unsigned char*>(last != nullptr ? last : contents[0].first);
      for (const volatile auto* stop = at + 8 * kMiB; at != stop; at = at + 1) {
        if (reinterpret_cast<const volatile std::byte*>(at) ==
            end + heap_range.guard_bytes.load()) {
          std::_Exit(3);
        }
        *at = 0xee;
      }
    };
    const bool guards = machine::supported_guard() == machine::GuardKind::kMadvise;
    const auto ended = support::run_in_child([&] {
      // A sanitizer would report it, and end the process in its own way.
      std::signal(SIGSEGV, SIG_DFL);
      overrun();
    });
    EXPECT_EQ(ended.signal, guards ? SIGSEGV : 0) << bytes;
    EXPECT_EQ(ended.status, guards ? -1 : 3) << bytes;
    heap->discard();
    heap = Heap::take(8 * kMiB);
  }
}

}  // namespace
}  // namespace bulkhead::memory
