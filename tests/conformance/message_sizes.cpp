// A10: messages of all sizes and alignments, and the pools that their memory comes from.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;

// A message of a size, whose every byte is known.
template <std::size_t Size>
struct Sized {
  std::array<std::uint8_t, Size> bytes;

  explicit Sized(unsigned seed) {
    for (std::size_t i = 0; i < Size; ++i) bytes[i] = static_cast<std::uint8_t>(seed + i * 7);
  }
  [[nodiscard]] bool intact(unsigned seed) const {
    for (std::size_t i = 0; i < Size; ++i) {
      if (bytes[i] != static_cast<std::uint8_t>(seed + i * 7)) return false;
    }
    return true;
  }
};

}  // namespace

// The actors here that get them have stacks to match.
template <>
inline constexpr bool bulkhead::kSendable<Sized<65'536>> = true;
template <>
inline constexpr bool bulkhead::kSendable<Sized<1 << 20>> = true;

namespace {

template <std::size_t Alignment>
struct alignas(Alignment) Aligned {
  std::uint64_t value = 0;
};

struct Report {
  std::atomic<int> handled{0};
  std::atomic<int> wrong{0};
};

class Receiver {
 public:
  explicit Receiver(Report* report) : report_(report) {}

  template <std::size_t Size>
  void receive(Sized<Size> message) {
    note(message.intact(message.bytes[0]));
  }
  template <std::size_t Alignment>
  void receive(Aligned<Alignment> message) {
    note(message.value == 42 && reinterpret_cast<std::uintptr_t>(&message) % Alignment == 0);
  }

 private:
  void note(bool right) {
    ++report_->handled;
    if (!right) ++report_->wrong;
  }

  Report* report_;
};

// Also looks at where the message lies before it is moved out of its signal.
struct alignas(64) Placed {
  std::uint64_t value;
};
class Placing {
 public:
  explicit Placing(Report* report) : report_(report) {}
  void receive(const Placed& message) {
    ++report_->handled;
    if (reinterpret_cast<std::uintptr_t>(&message) % 64 != 0 || message.value != 42)
      ++report_->wrong;
  }

 private:
  Report* report_;
};

class MessageSizes : public support::Running {
 protected:
  template <std::size_t... Sizes>
  static void send_sizes(Address<Receiver> to) {
    unsigned seed = 0;
    (to.send(Sized<Sizes>(seed++)), ...);
  }
  static void send_all_sizes(Address<Receiver> to) {
    send_sizes<1, 2, 8, 15, 16, 17, 39, 40, 41, 63, 64, 65, 103, 104, 105, 1000, 4000, 4072, 4073,
               65'536>(to);
  }

  // Handlers take their messages by value, on their stack.
  static bulkhead::SpawnOptions deep(std::size_t core) {
    bulkhead::SpawnOptions options = pinned_to(core);
    options.stack_size = std::size_t{1} << 20;
    return options;
  }

  // From every core to every core.
  template <class Send>
  void between_all_cores(Send send) {
    for (std::size_t from = 0; from < cores(); ++from) {
      for (std::size_t to = 0; to < cores(); ++to) {
        const auto receiver = runtime.spawn_with<Receiver>(deep(to), &report);
        runtime.spawn_with(deep(from), [receiver, send] { send(receiver); });
      }
    }
    wait_for_idle();
  }

  Report report;
};
ON_ONE_AND_SEVERAL_CORES(MessageSizes);

// A10
TEST_P(MessageSizes, from_1_byte_to_64_kib_arrive_intact) {
  between_all_cores([](Address<Receiver> to) {
    for (int i = 0; i < 50; ++i) send_all_sizes(to);
  });
  EXPECT_EQ(report.wrong, 0);
  EXPECT_EQ(report.handled, 50 * 20 * static_cast<int>(cores() * cores()));
}

// A10
TEST_P(MessageSizes, a_mebibyte_arrives_intact) {
  using Huge = Sized<1 << 20>;
  bulkhead::SpawnOptions deeper;
  deeper.stack_size = std::size_t{8} << 20;
  const auto receiver = runtime.spawn_with<Receiver>(deeper, &report);
  for (unsigned i = 0; i < 4; ++i) receiver.send(Huge(i));
  runtime.spawn_with(deeper, [receiver] {
    for (unsigned i = 0; i < 4; ++i) receiver.send(Huge(i));
  });
  wait_for_idle();
  EXPECT_EQ(report.wrong, 0);
  EXPECT_EQ(report.handled, 8);
}

// A10
TEST_P(MessageSizes, from_threads_outside_arrive_intact) {
  const auto receiver = runtime.spawn_with<Receiver>(deep(1), &report);
  for (int i = 0; i < 50; ++i) send_all_sizes(receiver);
  wait_for_idle();
  EXPECT_EQ(report.wrong, 0);
  EXPECT_EQ(report.handled, 50 * 20);
}

// A10
TEST_P(MessageSizes, overaligned_messages_are_aligned_at_their_receiver) {
  between_all_cores([](Address<Receiver> to) {
    for (int i = 0; i < 100; ++i) {
      to.send(Aligned<16>{42});
      to.send(Aligned<32>{42});
      to.send(Aligned<64>{42});
    }
  });
  EXPECT_EQ(report.wrong, 0);
  EXPECT_EQ(report.handled, 300 * static_cast<int>(cores() * cores()));
}

// A10
TEST_P(MessageSizes, a_message_is_aligned_where_it_lies) {
  const auto placing = runtime.spawn_with<Placing>(on_core(1), &report);
  placing.send(Placed{42});
  runtime.spawn([placing] {
    for (int i = 0; i < 100; ++i) placing.send(Placed{42});
  });
  wait_for_idle();
  EXPECT_EQ(report.wrong, 0);
  EXPECT_EQ(report.handled, 101);
}

// A10: a flood that is freed on another core comes home, and what the burst needed is given back.
TEST_P(MessageSizes, the_pools_shrink_after_a_burst) {
  const auto receiver = runtime.spawn_with<Receiver>(pinned_to(1), &report);
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [receiver] {
      for (unsigned i = 0; i < 50'000; ++i) receiver.send(Sized<40>(i));
    });
  }
  wait_for_idle();
  EXPECT_EQ(report.handled, 50'000 * static_cast<int>(cores()));
  EXPECT_EQ(report.wrong, 0);
  // A core trims its pool when it goes to sleep; what came home later waits for its next sleep.
  constexpr std::uint64_t kKept = std::uint64_t{2} << 20;
  EXPECT_TRUE(support::eventually([&] {
    for (std::size_t core = 0; core < cores(); ++core) runtime.spawn_with(pinned_to(core), [] {});
    EXPECT_TRUE(runtime.wait_for_idle(support::kDeadline));
    return runtime.stats().pool_bytes <= cores() * kKept;
  })) << runtime.stats().pool_bytes;
  runtime.shutdown();
  EXPECT_EQ(runtime.stats().pool_bytes, 0u);
}

// A10: actors in a cycle over all cores send what they got, of a size that grows and shrinks.
TEST_P(MessageSizes, a_long_run_of_mixed_sizes_does_not_grow_the_pools) {
  const auto run = [this] {
    between_all_cores([](Address<Receiver> to) {
      for (int i = 0; i < 40; ++i) {
        send_all_sizes(to);
        this_actor::yield();
      }
    });
  };
  run();
  run();
  const auto early = runtime.stats().pool_bytes;
  for (int i = 0; i < 6; ++i) run();
  EXPECT_LE(runtime.stats().pool_bytes, early + cores() * (std::size_t{2} << 20));
  EXPECT_EQ(report.wrong, 0);
}

}  // namespace
