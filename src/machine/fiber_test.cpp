#include "machine/fiber.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/stack.hpp"

namespace bulkhead::machine {
namespace {

// A body on a stack of its own, driven by the thread that calls run. Like a core, the driver runs
// on a lent stack while it drives; like an actor, the body leaves its stack by wait(), and the loop
// goes on on a fresh one.
class Driven {
 public:
  explicit Driven(std::function<void(Driven&)> body) : body_(std::move(body)) {}

  // Runs until the body waits or ends, on the calling thread.
  void run() {
    exceptions_ = thread_exceptions();
    thread_stack_ = Stack{};
    Stack* first = take();
    leave_thread(&thread_stack_, first, &Driven::drive, first);
  }

  // In the body: waits for the next run.
  void wait() {
    Stack* mine = running_;
    waiting_ = mine;
    Stack* fresh = take();
    running_ = fresh;
    leave(mine, fresh, &Driven::back_to_thread, fresh, exceptions_);
  }

  [[nodiscard]] bool done() const { return done_; }

 private:
  Stack* take() {
    Stack* stack = StackStore::process().take(stack_class(256 * 1024));
    forget(stack);
    stack->core = reinterpret_cast<core::Core*>(this);  // whose it is; never looked into here
    return stack;
  }
  static Driven& driven_of(Stack* stack) { return *reinterpret_cast<Driven*>(stack->core); }

  // Starts the body, or goes on with it where it waits.
  static void drive(void* argument) {
    auto* me = static_cast<Stack*>(argument);
    entered(me);
    Driven& self = driven_of(me);
    if (self.waiting_ != nullptr) {
      Stack* left = std::exchange(self.waiting_, nullptr);
      self.running_ = left;
      resume(me, left, self.exceptions_);
    }
    self.running_ = me;
    self.body_(self);
    self.done_ = true;
    resume(self.running_, &self.thread_stack_, self.exceptions_);
  }

  static void back_to_thread(void* argument) {
    auto* me = static_cast<Stack*>(argument);
    entered(me);
    Driven& self = driven_of(me);
    resume(me, &self.thread_stack_, self.exceptions_);
  }

  std::function<void(Driven&)> body_;
  ExceptionState* exceptions_ = nullptr;
  Stack thread_stack_;
  Stack* running_ = nullptr;
  Stack* waiting_ = nullptr;
  bool done_ = false;
};

TEST(Fiber, runs_a_body_on_another_stack) {
  std::uintptr_t here = 0;
  std::uintptr_t there = 0;
  here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  Driven driven(
      [&](Driven&) { there = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); });
  driven.run();
  EXPECT_TRUE(driven.done());
  EXPECT_GT(std::max(here, there) - std::min(here, there), std::uintptr_t{1} << 16);
}

TEST(Fiber, goes_on_where_it_waited) {
  std::vector<int> steps;
  Driven driven([&](Driven& self) {
    for (int i = 0; i < 5; ++i) {
      steps.push_back(i);
      self.wait();
    }
  });
  for (int i = 0; i < 5; ++i) {
    driven.run();
    EXPECT_EQ(steps.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_FALSE(driven.done());
  }
  driven.run();
  EXPECT_TRUE(driven.done());
}

[[gnu::noinline]] std::uint64_t keep_busy(Driven& self, std::uint64_t a, double x) {
  std::uint64_t r1 = a, r2 = a + 1, r3 = a + 2, r4 = a + 3, r5 = a + 4, r6 = a + 5, r7 = a + 6;
  double d1 = x, d2 = x + 1, d3 = x + 2, d4 = x + 3;
  self.wait();
  r1 *= 3, r2 *= 5, r3 *= 7, r4 *= 11, r5 *= 13, r6 *= 17, r7 *= 19;
  self.wait();
  d1 = std::sqrt(d1), d2 = std::sqrt(d2), d3 = std::sqrt(d3), d4 = std::sqrt(d4);
  return r1 + r2 + r3 + r4 + r5 + r6 + r7 + static_cast<std::uint64_t>((d1 + d2 + d3 + d4) * 1000);
}

TEST(Fiber, keeps_registers_over_a_wait) {
  std::uint64_t result = 0;
  Driven driven([&](Driven& self) { result = keep_busy(self, 100, 2.0); });
  for (int i = 0; i < 3; ++i) {
    driven.run();
    // Something else uses them meanwhile.
    volatile double other = 1;
    for (int k = 0; k < 100; ++k) other = std::sin(other) + k;
  }
  EXPECT_TRUE(driven.done());
  const double roots = std::sqrt(2.0) + std::sqrt(3.0) + std::sqrt(4.0) + std::sqrt(5.0);
  EXPECT_EQ(result, 100 * 3 + 101 * 5 + 102 * 7 + 103 * 11 + 104 * 13 + 105 * 17 + 106 * 19 +
                        static_cast<std::uint64_t>(roots * 1000));
}

TEST(Fiber, goes_on_on_another_thread) {
  std::vector<pid_t> ids;
  Driven driven([&](Driven& self) {
    for (int i = 0; i < 4; ++i) {
      ids.push_back(gettid());
      self.wait();
    }
  });
  driven.run();
  for (int i = 0; i < 4; ++i) std::thread([&] { driven.run(); }).join();
  EXPECT_TRUE(driven.done());
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_EQ(ids[0], gettid());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(ids[i], ids[0]);
}

TEST(Fiber, throws_and_catches_within_its_stack) {
  std::string caught;
  Driven driven([&](Driven&) {
    try {
      throw std::runtime_error("inside");
    } catch (const std::exception& error) {
      caught = error.what();
    }
  });
  driven.run();
  EXPECT_EQ(caught, "inside");
}

TEST(Fiber, throws_after_a_wait_through_frames_from_before) {
  struct Mark {
    int* count;
    ~Mark() { ++*count; }
  };
  int destroyed = 0;
  std::string caught;
  Driven driven([&](Driven& self) {
    try {
      const Mark mark{&destroyed};
      self.wait();
      const Mark another{&destroyed};
      throw std::runtime_error("later");
    } catch (const std::exception& error) {
      caught = error.what();
    }
  });
  driven.run();
  std::thread([&] { driven.run(); }).join();
  EXPECT_EQ(caught, "later");
  EXPECT_EQ(destroyed, 2);
}

// Exceptions that are being handled, on several stacks of one thread at a time.
TEST(Fiber, waits_inside_catch_blocks) {
  constexpr int kBodies = 10;
  std::vector<std::unique_ptr<Driven>> all;
  std::vector<std::string> caught(kBodies);
  for (int i = 0; i < kBodies; ++i) {
    all.push_back(std::make_unique<Driven>([&caught, i](Driven& self) {
      try {
        throw std::runtime_error("outer " + std::to_string(i));
      } catch (const std::exception&) {
        self.wait();
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        try {
          throw i;
        } catch (int number) {
          self.wait();
          EXPECT_EQ(number, i);
        }
        self.wait();
        try {
          throw;
        } catch (const std::exception& again) {
          caught[static_cast<std::size_t>(i)] = again.what();
        }
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    }));
  }
  for (int round = 0; round < 4; ++round) {
    for (auto& driven : all) {
      driven->run();
      EXPECT_EQ(std::current_exception(), nullptr) << "the driver handles none";
    }
  }
  for (int i = 0; i < kBodies; ++i) {
    EXPECT_TRUE(all[static_cast<std::size_t>(i)]->done());
    EXPECT_EQ(caught[static_cast<std::size_t>(i)], "outer " + std::to_string(i));
  }
}

// A destructor that waits while an exception is in flight: the count of those belongs to the stack.
TEST(Fiber, waits_while_an_exception_is_in_flight) {
  struct Waits {
    Driven* self;
    int* uncaught;
    ~Waits() {
      self->wait();
      *uncaught = std::uncaught_exceptions();
    }
  };
  int uncaught = 0;
  bool caught = false;
  Driven driven([&](Driven& self) {
    try {
      const Waits waits{&self, &uncaught};
      throw 5;
    } catch (int number) {
      caught = number == 5;
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
  driven.run();
  EXPECT_EQ(std::uncaught_exceptions(), 0) << "the driver has none";
  std::thread([&] { driven.run(); }).join();
  EXPECT_TRUE(caught);
  EXPECT_EQ(uncaught, 1);
}

TEST(Fiber, hands_exceptions_over_to_other_stacks) {
  std::exception_ptr thrown;
  Driven first([&](Driven&) {
    try {
      throw std::out_of_range("from afar");
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  first.run();
  std::string caught;
  Driven second([&](Driven& self) {
    self.wait();
    try {
      std::rethrow_exception(thrown);
    } catch (const std::out_of_range& error) {
      caught = error.what();
    }
  });
  second.run();
  second.run();
  EXPECT_EQ(caught, "from afar");
}

// A stack that was abandoned starts anew, on a stack of another size too.
TEST(Fiber, restarts_on_another_stack) {
  struct Restart {
    static void second(void* argument) {
      auto* stack = static_cast<Stack*>(argument);
      entered(stack);
      auto& self = *reinterpret_cast<Restart*>(stack->core);
      self.ran = 2;
      self.size = stack->size();
      resume(stack, &self.thread, thread_exceptions());
    }
    static void first(void* argument) {
      auto* stack = static_cast<Stack*>(argument);
      entered(stack);
      auto& self = *reinterpret_cast<Restart*>(stack->core);
      self.ran = 1;
      Stack* larger = StackStore::process().take(stack_class(1024 * 1024));
      forget(larger);
      larger->core = stack->core;
      restart(stack, larger, &Restart::second, larger);
    }
    Stack thread;
    int ran = 0;
    std::size_t size = 0;
  };
  Restart state;
  Stack* stack = StackStore::process().take(stack_class(64 * 1024));
  forget(stack);
  stack->core = reinterpret_cast<core::Core*>(&state);
  leave_thread(&state.thread, stack, &Restart::first, stack);
  EXPECT_EQ(state.ran, 2);
  EXPECT_EQ(state.size, 1024u * 1024);
}

TEST(Fiber, goes_to_and_fro_many_times) {
  long turns = 0;
  Driven driven([&](Driven& self) {
    for (int i = 0; i < 1000; ++i) {
      ++turns;
      self.wait();
    }
  });
  while (!driven.done()) driven.run();
  EXPECT_EQ(turns, 1000);
}

}  // namespace
}  // namespace bulkhead::machine
