// C10: a tick never finds the runtime in the middle of something. While actors do all kinds of
// things, each allocation at which the runtime would let them give way is looked at: on the stack
// between it and the handler there must be no function of the runtime, but for those that are
// listed, where an actor might as well block.
#include <execinfo.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"
#include "machine/stack_trace.hpp"
#include "memory/ticks.hpp"
#include "support/wait.hpp"

namespace bulkhead {
namespace {

using namespace std::chrono_literals;

// --- the look ------------------------------------------------------------------------------------

// What is seen on one core's thread.
struct Seen {
  std::set<std::vector<void*>> stacks;
  std::vector<std::string> traces;
  std::uint64_t ticks = 0;
  std::uint64_t allowed = 0;
};

Seen seen;

std::string trace() {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* out = open_memstream(&text, &bytes);
  machine::print_stack_trace(out);
  std::fclose(out);
  std::string whole(text, bytes);
  std::free(text);
  return whole;
}

void on_tick(bool /*may_throw*/) {
  memory::ticks.left = INT64_MAX;  // not while we look
  ++seen.ticks;
  const core::Inside inside;
  if (core::Core::current()->may_give_way()) {
    ++seen.allowed;
    std::vector<void*> frames(64);
    frames.resize(static_cast<std::size_t>(backtrace(frames.data(), 64)));
    if (seen.stacks.insert(frames).second) seen.traces.push_back(trace());
  }
  memory::ticks.left = 1;
}

void look_at_each_allocation() { memory::ticks = {1, 1, &on_tick}; }
void look_no_more() { memory::ticks = {INT64_MAX, INT64_MAX, &on_tick}; }

// The parts of a trace's lines: "  0: function at file:line".
bool is_of_the_runtime(std::string_view line) {
  const auto file = line.rfind(" at ");
  if (file == std::string_view::npos) return false;
  const std::string_view path = line.substr(file);
  return path.find("/src/") != std::string_view::npos &&
         path.find("_test.cpp") == std::string_view::npos &&
         path.find("/src/memory/new.cpp") == std::string_view::npos;
}

// Functions of the runtime that take memory as any function of the actor's might: when they do,
// nothing is begun.
bool is_harmless(std::string_view line) {
  for (const std::string_view name : {"bulkhead::core::begin_spawn(", ": check at ", "refuse_",
                                      "::self(", "bulkhead::to_string(", "bulkhead::panic("}) {
    if (line.find(name) != std::string_view::npos) return true;
  }
  return false;
}

// The first line of a trace that should not be there.
std::string fault_in(std::string_view trace) {
  while (!trace.empty()) {
    const auto end = trace.find('\n');
    const std::string_view line = trace.substr(0, end);
    if (line.find("bulkhead::core::Core::deliver_batch") != std::string_view::npos) return "";
    if (line.find("Core::before_messages") == std::string_view::npos &&
        line.find("Core::arm_timeout") == std::string_view::npos && is_of_the_runtime(line) &&
        !is_harmless(line)) {
      return std::string(line);
    }
    trace.remove_prefix(end == std::string_view::npos ? trace.size() : end + 1);
  }
  return "no handler below";
}

// --- what actors do ------------------------------------------------------------------------------

struct Small {
  long number = 0;
};
struct Large {
  std::array<std::byte, 16'000> bytes{};
};
struct Question {
  using Answer = std::string;
  std::vector<int> numbers;
};

class Worker {
 public:
  void receive(Small message) {
    notes_.push_back(std::make_unique<long>(message.number));
    if (message.number == 13) throw std::runtime_error("thirteen, with a text that takes memory");
  }
  void receive(Large /*message*/) { notes_.clear(); }
  std::string receive(Question question) { return std::string(100 + question.numbers.size(), 'x'); }
  void receive(std::string text) { texts_.push_back(std::move(text)); }

 private:
  std::vector<std::unique_ptr<long>> notes_;
  std::vector<std::string> texts_;
};

class Patient {
 public:
  [[nodiscard]] std::chrono::milliseconds receive_timeout() const {
    auto time = std::make_unique<int>(1);
    return std::chrono::milliseconds(*time);
  }
  void receive(ReceiveTimeout /*timeout*/) {
    auto text = std::make_unique<std::string>(50, 't');
    this_actor::stop();
  }
};

template <class Function>
void expect_error(Function function) {
  EXPECT_ANY_THROW(function());
}

void many_at_a_time() {
  std::vector<Address<Worker>> workers;
  workers.reserve(6000);
  for (int i = 0; i < 6000; ++i) workers.push_back(spawn<Worker>());
  for (const auto& worker : workers) worker.send(Small{1});
  for (const auto& worker : workers) worker.send(std::string(40, 'm'));
  for (const auto& worker : workers) stop(worker);
  this_actor::yield();
}

void one_after_the_other() {
  const auto worker = spawn<Worker>();
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(worker.ask(Question{std::vector<int>(10, i)}));
    worker.send(Large{});
  }
  worker.send(Small{13});
  EXPECT_FALSE(worker.ask(Question{}));
  worker.send(std::string(100, 'd'));
  SpawnOptions bounded;
  bounded.mailbox_bound = 1;
  const auto narrow = spawn_with<Worker>(bounded);
  for (int i = 0; i < 20; ++i) {
    std::string text(100, 'b');
    EXPECT_EQ(narrow.send_or_wait(text), Delivery::kQueued);
  }
  stop(narrow);
}

void timers() {
  const auto worker = spawn<Worker>();
  std::vector<TimerRef> started;
  for (int i = 0; i < 2000; ++i) started.push_back(send_after(1h, worker, std::string(60, 'c')));
  for (const TimerRef timer : started) EXPECT_TRUE(cancel(timer));
  static_cast<void>(send_after(1ms, worker, std::string(60, 'a')));
  this_actor::sleep_for(5ms);
  spawn<Patient>();
  this_actor::sleep_for(10ms);
  stop(worker);
}

void elsewhere(std::size_t core) {
  SpawnOptions there;
  there.core = core;
  const auto far = spawn_with<Worker>(there);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(far.ask(Question{std::vector<int>(3, i)}));
    far.send(Large{});
  }
  SpawnOptions own;
  own.own_thread = true;
  const auto solo = spawn_with<Worker>(own);
  EXPECT_TRUE(solo.ask(Question{}));
  stop(solo);
  stop(far);
}

void errors() {
  SpawnOptions nowhere;
  nowhere.core = 1000;
  expect_error([&] { spawn_with<Worker>(nowhere); });
  expect_error([] { panic("a text that is longer than what a string holds itself"); });
  expect_error([] { this_actor::sleep_for(-1ms); });
  static_cast<void>(to_string(this_actor::pid()) + to_string(Exit::normal()));
}

TEST(Ticks, find_no_function_of_the_runtime_at_work) {
  if (!memory::kAllocationsTick) {
    EXPECT_EQ(memory::ticks.left, INT64_MAX);
    return;
  }
  Config config;
  config.cores = 2;
  config.gather = false;
  config.share_work = false;
  config.hand_over_after = kForever;  // the looks are counted in one thread
  std::atomic<int> told{0};
  config.on_dead_letter = [&](const DeadLetter& letter) {
    const auto text = std::string(letter.message_type) + " with a text that takes memory";
    if (!text.empty()) ++told;
  };
  config.on_death = [&](const Death& death) {
    if (!(to_string(death.exit) + " with a text that takes memory").empty()) ++told;
  };
  Runtime runtime(config);
  runtime.start();
  bool done = false;
  runtime.spawn([&] {
    look_at_each_allocation();
    one_after_the_other();
    many_at_a_time();
    timers();
    elsewhere(1);
    errors();
    look_no_more();
    done = true;
  });
  ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  runtime.shutdown();
  EXPECT_TRUE(done);
  EXPECT_GT(told, 0);
  EXPECT_GT(seen.ticks, seen.allowed) << "the runtime allocates too";
  EXPECT_GT(seen.allowed, 10'000u);
  EXPECT_GT(seen.traces.size(), 10u);
  for (const std::string& trace : seen.traces) {
    const std::string fault = fault_in(trace);
    EXPECT_EQ(fault, "") << trace;
  }
}

// The check above can fail.
TEST(Ticks, would_be_found_in_the_runtime) {
  EXPECT_NE(
      fault_in("  0: operator new at /x/src/memory/new.cpp:80\n"
               "  1: bulkhead::core::SlotRing::grow() at /x/src/core/ready_queue.hpp:50\n"
               "  2: bulkhead::core::Core::deliver_batch(...) at /x/src/core/activation.cpp:9"),
      "");
  EXPECT_EQ(
      fault_in("  0: operator new at /x/src/memory/new.cpp:80\n"
               "  1: work() at /x/user.cpp:50\n"
               "  2: bulkhead::core::Core::deliver_batch(...) at /x/src/core/activation.cpp:9"),
      "");
}

}  // namespace
}  // namespace bulkhead
