// A11: what is in a message is handed over, not copied.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/live.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;

class Payloads : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Payloads);

// Counts what is done with it.
struct Counting {
  static inline std::atomic<int> copies{0};
  static inline std::atomic<int> moves{0};
  static void reset() { copies = moves = 0; }

  Counting() = default;
  Counting(const Counting&) { ++copies; }
  Counting(Counting&&) noexcept { ++moves; }
  Counting& operator=(const Counting&) = default;
  Counting& operator=(Counting&&) noexcept = default;
};

struct Buffer {
  std::vector<int> numbers;
  std::unique_ptr<std::string> text;
};
struct Where {
  std::unique_ptr<std::uintptr_t> numbers;
  std::unique_ptr<std::uintptr_t> text;
};

// Says where the memory lies that it was given.
class Keeper {
 public:
  void receive(Counting /*message*/) {}
  void receive(std::unique_ptr<int> number) { sum_ += *number; }
  void receive(std::vector<std::string> texts) {
    for (const auto& text : texts) sum_ += static_cast<int>(text.size());
  }
  std::pair<std::uintptr_t, std::uintptr_t> receive(Buffer buffer) {
    return {reinterpret_cast<std::uintptr_t>(buffer.numbers.data()),
            reinterpret_cast<std::uintptr_t>(buffer.text->data())};
  }
  int receive(char /*message*/) { return sum_; }

 private:
  int sum_ = 0;
};

Buffer make_buffer() {
  return {std::vector<int>(1000, 5), std::make_unique<std::string>(200, 'x')};
}

// A11
TEST_P(Payloads, are_never_copied) {
  const auto keeper = runtime.spawn_with<Keeper>(on_core(1));
  Counting::reset();
  keeper.send(Counting());
  runtime.spawn([keeper] {
    keeper.send(Counting());
    Counting mine;
    static_cast<void>(keeper.try_send(mine));
    bulkhead::send_after(std::chrono::milliseconds(1), keeper, Counting());
    this_actor::sleep_for(std::chrono::milliseconds(5));
  });
  wait_for_idle();
  EXPECT_EQ(Counting::copies, 0);
  EXPECT_GT(Counting::moves, 0);
}

// A11
TEST_P(Payloads, arrive_in_the_memory_that_they_were_made_in) {
  const auto keeper = runtime.spawn_with<Keeper>(on_core(1));
  const auto check = [keeper] {
    Buffer buffer = make_buffer();
    const auto numbers = reinterpret_cast<std::uintptr_t>(buffer.numbers.data());
    const auto text = reinterpret_cast<std::uintptr_t>(buffer.text->data());
    const auto there = keeper.ask(std::move(buffer), support::kDeadline);
    ASSERT_TRUE(there);
    EXPECT_EQ(there->first, numbers);
    EXPECT_EQ(there->second, text);
  };
  check();
  runtime.spawn(check);
  wait_for_idle();
}

// A11
TEST_P(Payloads, that_own_memory_are_handed_over) {
  const auto keeper = runtime.spawn_with<Keeper>(on_core(1));
  runtime.spawn([keeper] {
    keeper.send(std::make_unique<int>(7));
    keeper.send(std::vector<std::string>{"abc", std::string(100, 'y')});
  });
  wait_for_idle();
  EXPECT_EQ(keeper.ask('?', support::kDeadline), 110);
}

// A11
TEST_P(Payloads, are_left_alone_by_a_try_send_that_fails) {
  const auto keeper = runtime.spawn<Keeper>();
  bulkhead::stop(keeper);
  wait_for_idle();
  auto message = std::make_unique<int>(7);
  EXPECT_EQ(keeper.try_send(message), bulkhead::Delivery::kGone);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(*message, 7);
  EXPECT_EQ(runtime.stats().refused, 0u) << "nothing was dropped";
}

struct Cargo {
  support::Live live;
};

class Unloader {
 public:
  explicit Unloader(std::atomic<long>* sum) : sum_(sum) {}
  void receive(Cargo cargo) { *sum_ += cargo.live.value(); }
  support::Live receive(std::unique_ptr<Cargo> cargo) { return std::move(cargo->live); }

 private:
  std::atomic<long>* sum_;
};

// A11, A12
TEST_P(Payloads, are_destroyed_once_each) {
  const long before = support::Live::alive();
  support::Live::reset();
  std::atomic<long> sum{0};
  const auto unloader = runtime.spawn_with<Unloader>(on_core(1), &sum);
  runtime.spawn([unloader] {
    for (int i = 0; i < 1000; ++i) unloader.send(Cargo{support::Live(i)});
  });
  wait_for_idle();
  EXPECT_EQ(sum, 999 * 1000 / 2);
  EXPECT_EQ(support::Live::alive(), before);
  EXPECT_EQ(support::Live::ended(), 1000);
}

// A11: an answer is handed over as well.
TEST_P(Payloads, of_answers_are_handed_over) {
  const long before = support::Live::alive();
  std::atomic<long> sum{0};
  const auto unloader = runtime.spawn_with<Unloader>(on_core(1), &sum);
  const auto check = [unloader] {
    auto cargo = std::make_unique<Cargo>(Cargo{support::Live(9)});
    auto answer = unloader.ask(std::move(cargo), support::kDeadline);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->value(), 9);
  };
  check();
  runtime.spawn(check);
  wait_for_idle();
  EXPECT_EQ(support::Live::alive(), before);
}

}  // namespace
