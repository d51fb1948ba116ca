#include "machine/stack.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/process.hpp"

namespace bulkhead::machine {
namespace {

std::byte* top_of(Stack* stack) { return reinterpret_cast<std::byte*>(stack); }

// The class of the smallest stack of at least so many KiB.
std::uint8_t class_of_kib(std::size_t kib) { return stack_class(kib * 1024); }

TEST(StackClass, is_the_smallest_power_of_two_that_fits) {
  EXPECT_EQ(stack_class(1), 0);
  EXPECT_EQ(stack_class(kMinStackBytes), 0);
  EXPECT_EQ(stack_class(kMinStackBytes + 1), 1);
  EXPECT_EQ(stack_class(64 * 1024), 2);
  EXPECT_EQ(stack_class(64 * 1024 + 1), 3);
  EXPECT_EQ(stack_class(kMaxStackBytes), StackStore::kClasses - 1);
}

class StackStoreTest : public testing::TestWithParam<GuardKind> {
 protected:
  StackStore store{GetParam()};
};
// The kinds of guards that this kernel has: mprotect always, the other one from 6.13 on.
INSTANTIATE_TEST_SUITE_P(
    Guards, StackStoreTest,
    testing::ValuesIn(supported_guard() == GuardKind::kMadvise
                          ? std::vector{GuardKind::kMprotect, GuardKind::kMadvise}
                          : std::vector{GuardKind::kMprotect}),
    [](const auto& kind) { return kind.param == GuardKind::kMprotect ? "mprotect" : "madvise"; });

TEST_P(StackStoreTest, a_stack_has_its_size_and_all_of_it_can_be_used) {
  for (const std::size_t kib : std::initializer_list<std::size_t>{16, 32, 64, 256, 1024, 16384}) {
    Stack* stack = store.take(class_of_kib(kib));
    EXPECT_EQ(stack->size(), kib * 1024);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack->bottom) % 4096, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack->top()) % 64, 0u);
    EXPECT_EQ(top_of(stack) + sizeof(Stack), stack->bottom + kib * 1024);
    std::memset(stack->bottom, 0x11, static_cast<std::size_t>(top_of(stack) - stack->bottom));
    stack->next = nullptr;
    store.give(stack);
  }
}

TEST_P(StackStoreTest, stacks_do_not_overlap_and_have_a_guard_between) {
  std::set<std::byte*> bottoms;
  for (int i = 0; i < 500; ++i) bottoms.insert(store.take(class_of_kib(64))->bottom);
  ASSERT_EQ(bottoms.size(), 500u);
  std::byte* before = nullptr;
  for (std::byte* bottom : bottoms) {
    if (before != nullptr) {
      EXPECT_GE(bottom, before + 64 * 1024 + guard_bytes());
    }
    before = bottom;
  }
}

// Else a thousand of them compete for a few places in the translation buffer.
TEST_P(StackStoreTest, they_are_an_odd_number_of_pages_apart) {
  for (const std::size_t kib : {16u, 64u, 256u}) {
    const Stack* first = store.take(class_of_kib(kib));
    const Stack* second = store.take(class_of_kib(kib));
    EXPECT_EQ((second->bottom - first->bottom) / ::sysconf(_SC_PAGESIZE) % 2, 1) << kib << " KiB";
  }
}

TEST_P(StackStoreTest, an_overflow_hits_the_guard) {
  Stack* stack = store.take(class_of_kib(16));
  for (const std::size_t below :
       {std::size_t{1}, std::size_t{4096}, guard_bytes() - 1, guard_bytes()}) {
    const support::Ended child = support::run_in_child([&] {
      std::signal(SIGSEGV, SIG_DFL);
      *static_cast<volatile std::byte*>(stack->bottom - below) = std::byte{1};
    });
    EXPECT_EQ(child.signal, SIGSEGV) << below << " bytes below its lowest";
  }
  const support::Ended child = support::run_in_child(
      [&] { *static_cast<volatile std::byte*>(stack->bottom) = std::byte{1}; });
  EXPECT_EQ(child.signal, 0);
  EXPECT_EQ(child.status, 0) << "its lowest byte is its own";
}

TEST_P(StackStoreTest, a_stack_that_is_taken_again_still_has_its_guard) {
  Stack* stack = store.take(class_of_kib(16));
  stack->next = nullptr;
  store.give(stack);
  Stack* again = store.take(class_of_kib(16));
  EXPECT_EQ(again, stack) << "it is used again";
  const support::Ended child = support::run_in_child([&] {
    std::signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(again->bottom - 1) = std::byte{1};
  });
  EXPECT_EQ(child.signal, SIGSEGV);
}

TEST_P(StackStoreTest, memory_that_is_given_back_goes_to_the_kernel) {
  constexpr std::size_t kBytes = 1024 * 1024;
  Stack* chain = nullptr;
  for (int i = 0; i < 20; ++i) {
    Stack* stack = store.take(stack_class(kBytes));
    std::memset(stack->bottom, 1, static_cast<std::size_t>(top_of(stack) - stack->bottom));
    stack->next = chain;
    chain = stack;
  }
  const std::size_t used = support::resident_bytes();
  store.give(chain);
  EXPECT_LT(support::resident_bytes(), used - 15 * kBytes);
  EXPECT_EQ(*store.take(stack_class(kBytes))->bottom, std::byte{0});
}

TEST_P(StackStoreTest, address_space_is_reserved_in_slabs_and_used_again) {
  std::vector<Stack*> taken;
  for (int i = 0; i < 1000; ++i) taken.push_back(store.take(class_of_kib(64)));
  const std::size_t reserved = store.reserved_bytes();
  EXPECT_GE(reserved, 1000 * (64 * 1024 + guard_bytes()));
  for (int round = 0; round < 5; ++round) {
    for (Stack* stack : taken) {
      stack->next = nullptr;
      store.give(stack);
    }
    for (Stack*& stack : taken) stack = store.take(class_of_kib(64));
  }
  EXPECT_EQ(store.reserved_bytes(), reserved);
}

TEST_P(StackStoreTest, serves_many_threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 200; ++i) {
        Stack* one = store.take(class_of_kib(16));
        Stack* two = store.take(class_of_kib(32));
        one->in_hand = reinterpret_cast<Signal*>(one);
        *two->bottom = std::byte{7};
        EXPECT_EQ(one->in_hand, reinterpret_cast<Signal*>(one));
        one->next = two;
        two->next = nullptr;
        store.give(one);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The guards of one kind split mappings, those of the other do not.
TEST_P(StackStoreTest, mappings_grow_only_with_guards_by_mprotect) {
  const std::size_t before = support::mappings();
  for (int i = 0; i < 256; ++i) static_cast<void>(store.take(class_of_kib(16)));
  const std::size_t grown = support::mappings() - before;
  if (GetParam() == GuardKind::kMadvise) {
    EXPECT_LE(grown, 16u);
  } else {
    EXPECT_GE(grown, 256u);
  }
}

TEST(StackStore, says_what_to_do_when_there_are_no_more) {
  const support::Ended child = support::run_in_child([] {
    StackStore store(GuardKind::kMprotect);
    // Reserves address space only: this ends when there is no more, or at the limit on mappings.
    try {
      for (int i = 0; i < 200'000; ++i) {
        static_cast<void>(store.take(StackStore::kClasses - 1));
      }
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      if (text.find("ulimit") == std::string::npos) _exit(2);
      if (text.find("vm.max_map_count") == std::string::npos) _exit(3);
      _exit(7);
    }
  });
  EXPECT_EQ(child.status, 7) << child.errors;
}

// The limit is read again when it is met.
std::size_t limit_now = 0;

TEST(StackStore, names_the_limit_on_mappings_and_what_to_set_it_to) {
  limit_now = kMappingsLeft + 100 * kMappingsPerGuard;
  StackStore store(GuardKind::kMprotect, [] { return limit_now; });
  for (int i = 0; i < 100; ++i) static_cast<void>(store.take(0));
  std::string text;
  try {
    static_cast<void>(store.take(0));
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  EXPECT_TRUE(text.starts_with("bulkhead: no memory for another stack: memory mappings: ")) << text;
  EXPECT_NE(text.find(" 100 stacks "), std::string::npos) << text;
  EXPECT_NE(text.find("vm.max_map_count, which limits them, is 2248."), std::string::npos) << text;
  EXPECT_NE(text.find("sysctl -w vm.max_map_count=2004096"), std::string::npos) << text;

  limit_now += kMappingsPerGuard;
  EXPECT_NE(store.take(0), nullptr) << "it was raised";
  EXPECT_THROW(static_cast<void>(store.take(0)), std::runtime_error);
}

TEST(StackStore, knows_the_limit_on_mappings) { EXPECT_GE(most_mappings(), 1000u); }

TEST_P(StackStoreTest, a_stack_that_was_given_back_has_no_page) {
  Stack* chain = nullptr;
  for (int i = 0; i < 5000; ++i) {
    Stack* stack = store.take(class_of_kib(16));
    stack->next = chain;
    chain = stack;
  }
  const auto in_memory = [](std::byte* top) {
    unsigned char page = 0;
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_EQ(::mincore(top - bytes, bytes, &page), 0);
    return (page & 1) != 0;
  };
  std::vector<std::byte*> tops;
  for (const Stack* stack = chain; stack != nullptr; stack = stack->next) {
    tops.push_back(stack->bottom + stack->size());
    EXPECT_TRUE(in_memory(tops.back())) << "its record is there";
  }
  store.give(chain);
  EXPECT_EQ(std::count_if(tops.begin(), tops.end(), in_memory), 0);
}

TEST_P(StackStoreTest, what_was_touched_is_told_and_can_be_given_back) {
  Stack* stack = store.take(class_of_kib(64));
  EXPECT_EQ(touched_bytes(*stack), 4096u) << "the record";
  *(stack->bottom + 40'000) = std::byte{1};
  EXPECT_EQ(touched_bytes(*stack), 64 * 1024 - 40'000 / 4096 * 4096);
  *stack->bottom = std::byte{1};
  EXPECT_EQ(touched_bytes(*stack), 64u * 1024);
  discard_below(*stack, top_of(stack) - 100);
  EXPECT_LE(touched_bytes(*stack), 2u * 4096);
  EXPECT_EQ(*stack->bottom, std::byte{0});
  EXPECT_EQ(stack->size(), 64u * 1024) << "the record is still there";
  discard_below(*stack, stack->bottom + 10);  // nothing is below
  discard_below(*stack, nullptr);             // not of this stack
  EXPECT_EQ(stack->size(), 64u * 1024);
}

TEST(StackPool, gives_the_stack_first_that_was_given_back_last) {
  StackPool pool;
  Stack* one = pool.take(0);
  Stack* two = pool.take(0);
  Stack* large = pool.take(3);
  EXPECT_NE(one, two);
  pool.give(one);
  pool.give(large);
  pool.give(two);
  EXPECT_EQ(pool.take(0), two);
  EXPECT_EQ(pool.take(0), one);
  EXPECT_EQ(pool.take(3), large);
  pool.give(one);
  pool.give(two);
  pool.give(large);
}

TEST(StackPool, hands_back_all_but_a_few) {
  StackPool pool;
  std::vector<Stack*> taken;
  for (int i = 0; i < 50; ++i) taken.push_back(pool.take(1));
  for (Stack* stack : taken) pool.give(stack);
  pool.trim(10);
  const std::set<Stack*> mine(taken.begin(), taken.end());
  StackPool other;
  std::size_t from_store = 0;
  std::vector<Stack*> others;
  for (int i = 0; i < 40; ++i) {
    others.push_back(other.take(1));
    from_store += mine.count(others.back());
  }
  EXPECT_EQ(from_store, 40u) << "what was handed back serves others";
  for (Stack* stack : others) other.give(stack);
}

}  // namespace
}  // namespace bulkhead::machine
