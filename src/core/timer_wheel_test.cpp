#include "core/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "support/seed.hpp"

namespace bulkhead::core {
namespace {

using machine::kNever;
using machine::Nanoseconds;

constexpr Nanoseconds kTick = Nanoseconds{1} << 16;
constexpr Nanoseconds kStart = 1'000'000'007;

class TimerWheelTest : public testing::Test {
 protected:
  // Moves on to a time, in as many turns as it takes, and returns what fired.
  std::vector<Timer*> advance_to(Nanoseconds now) {
    std::vector<Timer*> fired;
    do {
      wheel.advance(now, [&](Timer& timer) {
        EXPECT_LE(timer.due, now) << "too early";
        EXPECT_FALSE(timer.linked());
        fired.push_back(&timer);
      });
    } while (wheel.next_due() <= now);
    return fired;
  }

  TimerWheel wheel{kStart};
};

TEST_F(TimerWheelTest, without_timers_nothing_is_due) {
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_EQ(wheel.next_due(), kNever);
  EXPECT_TRUE(advance_to(kStart + 1'000'000'000).empty());
}

TEST_F(TimerWheelTest, a_timer_fires_once_and_not_before_its_time) {
  Timer timer;
  wheel.start_at(timer, kStart + 5'000'000);
  EXPECT_TRUE(timer.linked());
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_TRUE(advance_to(kStart + 4'999'999).empty());
  EXPECT_EQ(advance_to(kStart + 5'000'000 + kTick), std::vector<Timer*>{&timer});
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_TRUE(advance_to(kStart + 1'000'000'000).empty());
}

TEST_F(TimerWheelTest, a_fresh_timer_counts_from_the_next_look_at_the_clock) {
  Timer timer;
  EXPECT_FALSE(wheel.has_fresh());
  wheel.start(timer, 1'000'000);
  EXPECT_TRUE(wheel.has_fresh());
  EXPECT_TRUE(advance_to(kStart + 50'000'000).empty());
  EXPECT_FALSE(wheel.has_fresh());
  EXPECT_EQ(timer.due, kStart + 51'000'000);
  EXPECT_TRUE(advance_to(kStart + 50'999'999).empty());
  EXPECT_EQ(advance_to(kStart + 51'000'000 + kTick).size(), 1u);
}

TEST_F(TimerWheelTest, a_cancelled_timer_does_not_fire) {
  Timer fresh;
  Timer filed;
  Timer other;
  wheel.start(fresh, 1'000'000);
  wheel.start_at(filed, kStart + 1'000'000);
  wheel.start_at(other, kStart + 1'000'000);
  wheel.cancel(fresh);
  wheel.cancel(filed);
  EXPECT_FALSE(fresh.linked());
  EXPECT_FALSE(filed.linked());
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_EQ(advance_to(kStart + 10'000'000), std::vector<Timer*>{&other});
}

TEST_F(TimerWheelTest, when_all_are_cancelled_nothing_is_due) {
  Timer timers[3];
  wheel.start_at(timers[0], kStart + 1'000);
  wheel.start_at(timers[1], kStart + 1'000'000'000);
  wheel.start_at(timers[2], kStart + 1'000'000'000'000'000);
  for (Timer& timer : timers) wheel.cancel(timer);
  EXPECT_EQ(wheel.next_due(), kNever);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST_F(TimerWheelTest, next_due_is_not_after_the_first_deadline_and_leads_to_it) {
  for (const Nanoseconds delay :
       {Nanoseconds{0}, Nanoseconds{1}, kTick - 1, kTick, kTick * 255, kTick * 256, kTick * 257,
        kTick * 65'535, kTick * 65'536, kTick * 16'777'216, kTick * 4'294'967'296,
        kTick * 1'000'000'000'000}) {
    Timer timer;
    TimerWheel fresh(kStart);
    fresh.start_at(timer, kStart + delay);
    Nanoseconds now = kStart;
    int fired = 0;
    for (int steps = 0; fired == 0; ++steps) {
      ASSERT_LT(steps, 20) << delay;
      const Nanoseconds next = fresh.next_due();
      ASSERT_LE(next, kStart + delay + kTick) << delay;
      now = std::max(now, next);
      fresh.advance(now, [&](Timer&) { ++fired; });
    }
    EXPECT_GE(now, kStart + delay);
    EXPECT_LE(now, kStart + delay + kTick) << "late by a tick at most";
  }
}

TEST_F(TimerWheelTest, the_farthest_deadlines_are_held_and_can_be_cancelled) {
  Timer far;
  Timer farther;
  Timer fresh;
  wheel.start_at(far, kNever - 1);
  wheel.start_at(farther, kNever);
  wheel.start(fresh, kNever - 5);
  EXPECT_TRUE(advance_to(kStart + 1'000'000'000'000'000'000).empty());
  EXPECT_EQ(wheel.size(), 3u);
  wheel.cancel(far);
  wheel.cancel(farther);
  wheel.cancel(fresh);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST_F(TimerWheelTest, timers_of_one_tick_fire_in_the_order_of_their_deadlines) {
  Timer timers[6];
  const Nanoseconds base = (kStart >> 16 << 16) + kTick * 300;
  const int order[] = {3, 1, 5, 0, 4, 2};
  for (const int i : order) wheel.start_at(timers[i], base + i * 10);
  const auto fired = advance_to(base + 10 * kTick);
  ASSERT_EQ(fired.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(fired[i], &timers[i]);
}

TEST_F(TimerWheelTest, timers_of_one_deadline_fire_in_the_order_started) {
  std::vector<Timer> timers(1000);
  for (Timer& timer : timers) wheel.start_at(timer, kStart + kTick * 70'000);
  const auto fired = advance_to(kStart + kTick * 70'010);
  ASSERT_EQ(fired.size(), 1000u);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(fired[i], &timers[i]);
}

TEST_F(TimerWheelTest, a_timer_may_start_others_when_it_fires) {
  Timer first;
  Timer past;
  Timer later;
  wheel.start_at(first, kStart + 1'000'000);
  std::vector<Timer*> fired;
  const auto fire = [&](Timer& timer) {
    fired.push_back(&timer);
    if (&timer == &first) {
      wheel.start_at(past, kStart);
      wheel.start(later, 1'000'000);
    }
  };
  wheel.advance(kStart + 2'000'000, fire);
  wheel.advance(kStart + 2'500'000, fire);
  EXPECT_EQ(fired, (std::vector<Timer*>{&first, &past}));
  wheel.advance(kStart + 4'000'000, fire);
  EXPECT_EQ(fired, (std::vector<Timer*>{&first, &past, &later}));
}

TEST_F(TimerWheelTest, a_million_in_one_bucket_do_not_stop_the_core_in_one_turn) {
  constexpr std::size_t kMany = 50'000;
  std::vector<Timer> timers(kMany);
  const Nanoseconds due = kStart + kTick * 100'000;
  for (Timer& timer : timers) wheel.start_at(timer, due);
  int turns = 0;
  std::size_t fired = 0;
  while (fired < kMany) {
    ASSERT_LT(++turns, 1000);
    wheel.advance(due + kTick, [&](Timer&) { ++fired; });
  }
  EXPECT_GT(turns, 4) << "its bucket is emptied in steps";
  EXPECT_EQ(wheel.size(), 0u);
}

TEST_F(TimerWheelTest, timers_of_a_bucket_that_is_being_emptied_can_be_cancelled) {
  constexpr std::size_t kMany = 20'000;
  std::vector<Timer> timers(kMany);
  const Nanoseconds due = kStart + kTick * 100'000;
  for (Timer& timer : timers) wheel.start_at(timer, due);
  std::size_t fired = 0;
  wheel.advance(due + kTick, [&](Timer&) { ++fired; });
  ASSERT_EQ(fired, 0u) << "the first turn only moves some of them";
  for (std::size_t i = 0; i < kMany; i += 2) wheel.cancel(timers[i]);
  Timer newcomer;
  wheel.start_at(newcomer, due);
  const auto rest = advance_to(due + 3 * kTick);
  EXPECT_EQ(rest.size(), kMany / 2 + 1);
  for (const Timer* timer : rest) {
    EXPECT_TRUE(timer == &newcomer || (timer - timers.data()) % 2 == 1);
  }
}

// Against the simplest thing that could be right: a list that is searched.
TEST_F(TimerWheelTest, does_what_a_plain_list_does) {
  support::Random random(support::seed_of_test());
  constexpr std::size_t kTimers = 300;
  struct Expected {
    Timer timer;
    bool running = false;
  };
  std::vector<std::unique_ptr<Expected>> all;
  for (std::size_t i = 0; i < kTimers; ++i) all.push_back(std::make_unique<Expected>());
  Nanoseconds now = kStart;
  std::size_t running = 0;
  const auto random_delay = [&]() -> Nanoseconds {
    return static_cast<Nanoseconds>(random.below(1u << 31)) >> random.below(31) << random.below(24);
  };
  for (int step = 0; step < 20'000; ++step) {
    Expected& one = *all[random.below(kTimers)];
    switch (random.below(4)) {
      case 0:
        if (!one.running) {
          wheel.start_at(one.timer, now + random_delay());
          one.running = true;
          ++running;
        }
        break;
      case 1:
        if (!one.running) {
          wheel.start(one.timer, random_delay());
          one.running = true;
          ++running;
        }
        break;
      case 2:
        if (one.running) {
          wheel.cancel(one.timer);
          one.running = false;
          --running;
        }
        break;
      default:
        now += random_delay() / 16;
        Nanoseconds last = 0;
        for (Timer* timer : advance_to(now)) {
          const auto found =
              std::ranges::find_if(all, [&](const auto& each) { return &each->timer == timer; });
          ASSERT_NE(found, all.end());
          ASSERT_TRUE((*found)->running) << "fired twice, or after it was cancelled";
          (*found)->running = false;
          --running;
          ASSERT_GE(timer->due >> 16, last >> 16) << "not in order";
          last = timer->due;
        }
        for (const auto& each : all) {
          if (each->running) {
            ASSERT_GE(each->timer.due, now - kTick) << "missed";
          }
        }
    }
    ASSERT_EQ(wheel.size(), running);
  }
}

}  // namespace
}  // namespace bulkhead::core
