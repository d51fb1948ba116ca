// D3: hand-overs by the hundred: actors that spin, sit in a system call, throw, and call the
// runtime in between at random. What is conserved: each message is handled or dropped, once; each
// ask has an outcome; each actor ends; no thread is left behind.
#include <gtest/gtest.h>
#include <poll.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "support/balance.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Config;
using bulkhead::Runtime;
using support::Clock;
using support::Random;
using namespace std::chrono_literals;

class StuckStorm : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(StuckStorm);

struct Tally {
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> unanswered{0};
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> ended{0};
  std::atomic<bool> over{false};
};

struct Work {
  std::uint32_t number;
};
struct Question {
  std::uint32_t number;
};
struct Tick {};

class Stormy {
 public:
  struct Know {
    std::vector<Address<Stormy>> others;
  };
  Stormy(Tally* tally, std::uint64_t seed) : tally_(tally), random_(seed) {}
  ~Stormy() {
    dawdle();
    ++tally_->ended;
  }

  void receive(Know know) { others_ = std::move(know.others); }
  void receive(Tick /*message*/) {}
  std::uint32_t receive(Question question) {
    dawdle();
    return question.number + 1;
  }
  void receive(Work work) {
    dawdle();
    if (tally_->over) return;
    try {
      act(work);
    } catch (const std::runtime_error&) {
      dawdle();
      static_cast<void>(this_actor::pid());
    }
    next().send(Work{work.number + 1});
    dawdle();
  }

 private:
  Address<Stormy> next() {
    return others_[random_.below(static_cast<std::uint32_t>(others_.size()))];
  }

  // Mostly quick, at times longer than a core is kept.
  void dawdle() {
    if (!random_.one_in(6)) return;
    if (random_.one_in(2)) {
      support::burn(std::chrono::microseconds(random_.below(4000)));
    } else {
      poll(nullptr, 0, static_cast<int>(random_.below(5)));
    }
  }

  void act(Work work) {
    switch (random_.below(8)) {
      case 0:
        ask(work.number);
        break;
      case 1:
        bulkhead::spawn([other = next(), seed = random_.seed()] {
          Random random(seed);
          support::burn(std::chrono::microseconds(random.below(3000)));
          other.send(Tick{});
        });
        break;
      case 2: {
        const auto timer = bulkhead::send_after(2ms, next(), Tick{});
        dawdle();
        bulkhead::cancel(timer);
        break;
      }
      case 3:
        this_actor::yield();
        break;
      case 4:
        this_actor::sleep_for(1ms);
        break;
      case 5:
        dawdle();
        throw std::runtime_error("storm");
      default:
        next().send(Tick{});
        break;
    }
  }

  void ask(std::uint32_t number) {
    ++tally_->asked;
    const auto answer = next().ask(Question{number}, 20ms);
    if (!answer) {
      ++tally_->unanswered;
    } else if (*answer == number + 1) {
      ++tally_->answered;
    } else {
      ++tally_->wrong;
    }
  }

  Tally* tally_;
  Random random_;
  std::vector<Address<Stormy>> others_;
};

// D3
TEST_P(StuckStorm, loses_nothing) {
  const std::uint64_t seed = support::seed_of_test();
  const std::size_t threads = support::threads();
  const auto end = Clock::now() + support::stress_time();
  Random random(seed);
  std::uint64_t handed_over = 0;
  while (Clock::now() < end) {
    Tally tally;
    Config settings = config();
    settings.hand_over_after = 1ms;
    Runtime runtime(settings);
    runtime.start();
    constexpr std::size_t kActors = 24;
    std::vector<Address<Stormy>> all;
    for (std::size_t i = 0; i < kActors; ++i) {
      auto where = on_core(random.below(8));
      where.pinned = random.one_in(8);
      all.push_back(runtime.spawn_with<Stormy>(where, &tally, random.seed()));
    }
    for (const auto& actor : all) actor.send(Stormy::Know{all});
    for (std::uint32_t i = 0; i < kActors; ++i) all[i].send(Work{i});
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random.below(200)));
    const bool patient = random.one_in(2);
    if (patient) {
      tally.over = true;
      ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
      EXPECT_EQ(tally.asked, tally.answered + tally.unanswered);
    }
    handed_over += runtime.stats().handed_over;
    runtime.shutdown(patient ? bulkhead::Timeout(support::kDeadline) : bulkhead::Timeout(1ms));
    const auto stats = runtime.stats();
    EXPECT_EQ(tally.ended, kActors);
    EXPECT_EQ(tally.wrong, 0u);
    EXPECT_EQ(stats.actors(), 0u);
    EXPECT_EQ(stats.away, 0u);
    support::expect_balanced(stats);
  }
  EXPECT_GT(handed_over, 0u);
  EXPECT_TRUE(support::eventually([&] { return support::threads() == threads; }));
}

}  // namespace
