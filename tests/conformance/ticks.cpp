// B11, B13: messages that are sent again and again.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/counted.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::cancel;
using bulkhead::DropCause;
using bulkhead::send_after;
using bulkhead::send_every;
using bulkhead::TimerRef;
using support::Clock;
using support::Counted;
using support::expect_none_alive;
using namespace std::chrono_literals;

class Ticks : public support::Running {
 protected:
  static bulkhead::SpawnOptions bounded(bulkhead::SpawnOptions options) {
    options.mailbox_bound = 1;
    return options;
  }
  static bulkhead::SpawnOptions isolated(bulkhead::SpawnOptions options) {
    options.isolated = bulkhead::Isolation{};
    return options;
  }
};
ON_ONE_AND_SEVERAL_CORES(Ticks);

struct Tick {};

const std::string kLong(100, 'x');

TEST_P(Ticks, come_every_period_and_never_early) {
  class Clockwork {
   public:
    explicit Clockwork(support::Log<Clock::duration>* times) : times_(times) {}
    void started() {
      begun_ = Clock::now();
      send_every(5ms, this_actor::address(this), Tick{});
    }
    void receive(Tick /*message*/) {
      times_->add(Clock::now() - begun_);
      if (times_->size() == 6) this_actor::stop();
    }

   private:
    support::Log<Clock::duration>* times_;
    Clock::time_point begun_;
  };
  support::Log<Clock::duration> times;
  runtime.spawn_with<Clockwork>(on_core(1), &times);
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  const auto all = times.entries();
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_GE(all[i], 5ms * (i + 1));
}

TEST_P(Ticks, that_were_missed_are_left_out) {
  class Busy {
   public:
    explicit Busy(std::atomic<int>* count) : count_(count) {}
    void started() {
      begun_ = Clock::now();
      send_every(2ms, this_actor::address(this), Tick{});
    }
    void receive(Tick /*message*/) {
      if (++*count_ == 1) support::burn(60ms);
      if (Clock::now() > begun_ + 100ms) this_actor::stop();
    }

   private:
    std::atomic<int>* count_;
    Clock::time_point begun_;
  };
  std::atomic<int> count{0};
  const auto begun = Clock::now();
  runtime.spawn_with<Busy>(on_core(1), &count);
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  const auto whole = (Clock::now() - begun) / 2ms;
  EXPECT_LE(count, whole - 25) << "thirty were missed";
}

TEST_P(Ticks, that_are_still_in_the_mailbox_stand_for_the_next) {
  class Sleeper {
   public:
    Sleeper(bulkhead::Runtime* its_runtime, std::atomic<std::uint64_t>* sent)
        : runtime_(its_runtime), sent_(sent) {}
    void started() {
      this_actor::sleep_for(10ms);
      const auto before = runtime_->stats().sent;
      this_actor::sleep_for(60ms);
      *sent_ = runtime_->stats().sent - before;
    }
    void receive(Tick /*message*/) { this_actor::stop(); }

   private:
    bulkhead::Runtime* runtime_;
    std::atomic<std::uint64_t>* sent_;
  };
  std::atomic<std::uint64_t> sent{100};
  const auto sleeper = runtime.spawn_with<Sleeper>(on_core(1), &runtime, &sent);
  runtime.spawn_with(on_core(0), [sleeper, &sent] {
    send_every(1ms, sleeper, Tick{});
    while (sent == 100) this_actor::sleep_for(1ms);
    this_actor::sleep_for(10ms);
  });
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_LE(sent, 1u);
}

TEST_P(Ticks, are_copies) {
  class Reader {
   public:
    explicit Reader(support::Log<std::string>* texts) : texts_(texts) {}
    void receive(Counted message) {
      texts_->add(message.text());
      const Counted gone = std::move(message);
    }

   private:
    support::Log<std::string>* texts_;
  };
  support::Log<std::string> texts;
  const auto reader = runtime.spawn_with<Reader>(on_core(1), &texts);
  runtime.spawn_with(on_core(0), [reader, &texts] {
    const TimerRef timer = send_every(1ms, reader, Counted(kLong));
    while (texts.size() < 5) this_actor::sleep_for(1ms);
    EXPECT_TRUE(cancel(timer));
  });
  wait_for_idle();
  for (const std::string& text : texts.entries()) EXPECT_EQ(text, kLong);
  expect_none_alive();
}

// Of each alignment and size.
template <std::size_t kBytes, std::size_t kAlignment>
struct alignas(kAlignment) Block {
  std::array<unsigned char, kBytes> bytes;
};
class Blocks {
 public:
  Blocks(std::atomic<int>* right, std::atomic<int>* wrong) : right_(right), wrong_(wrong) {}
  template <std::size_t kBytes, std::size_t kAlignment>
  void receive(const Block<kBytes, kAlignment>& block) {
    bool good = reinterpret_cast<std::uintptr_t>(&block) % kAlignment == 0;
    for (const unsigned char byte : block.bytes) good = good && byte == kBytes % 251;
    ++*(good ? right_ : wrong_);
  }

 private:
  std::atomic<int>* right_;
  std::atomic<int>* wrong_;
};
template <std::size_t kBytes, std::size_t kAlignment>
TimerRef send_blocks(const Address<Blocks>& to) {
  Block<kBytes, kAlignment> block{};
  block.bytes.fill(kBytes % 251);
  return send_every(1ms, to, block);
}

TEST_P(Ticks, may_have_any_size) {
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
  const auto blocks = runtime.spawn_with<Blocks>(on_core(1), &right, &wrong);
  runtime.spawn_with(on_core(0), [blocks, &right] {
    const std::vector<TimerRef> timers = {
        send_blocks<1, 1>(blocks),     send_blocks<40, 8>(blocks),    send_blocks<41, 1>(blocks),
        send_blocks<64, 64>(blocks),   send_blocks<128, 32>(blocks),  send_blocks<3000, 16>(blocks),
        send_blocks<4096, 64>(blocks), send_blocks<10'000, 8>(blocks)};
    while (right < 80) this_actor::sleep_for(1ms);
    for (const TimerRef timer : timers) EXPECT_TRUE(cancel(timer));
  });
  wait_for_idle();
  EXPECT_EQ(wrong, 0);
}

// --- what stands in their way ---

struct Rarely {
  Rarely() = default;
  Rarely(const Rarely& /*other*/) {
    if (++copies % 2 == 0) throw std::runtime_error("no copy");
  }
  Rarely(Rarely&&) noexcept = default;
  static inline std::atomic<int> copies{0};  // NOLINT
};

TEST_P(Ticks, whose_copies_throw_are_dropped_and_go_on) {
  class Sink {
   public:
    explicit Sink(std::atomic<int>* count) : count_(count) {}
    void receive(Rarely&& /*message*/) {
      if (++*count_ == 5) this_actor::stop();
    }
    void started() { send_every(1ms, this_actor::address(this), Rarely()); }

   private:
    std::atomic<int>* count_;
  };
  std::atomic<int> count{0};
  runtime.spawn_with<Sink>(bounded(on_core(1)), &count);
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_GE(runtime.stats().dropped_for(DropCause::kNoMemory), 4u);
}

// B13
TEST_P(Ticks, and_timers_for_oneself_need_no_room) {
  class Full {
   public:
    explicit Full(support::Log<std::string>* log) : log_(log) {}
    void started() {
      const auto me = this_actor::address(this);
      EXPECT_EQ(me.send(1), bulkhead::Delivery::kQueued);
      EXPECT_EQ(me.send(2), bulkhead::Delivery::kFull);
      send_after(0ms, me, std::string("once"));
      send_every(1ms, me, Tick{});
      this_actor::sleep_for(10ms);
      EXPECT_EQ(me.send(2), bulkhead::Delivery::kFull);
    }
    void receive(int /*message*/) { log_->add("mail"); }
    void receive(const std::string& text) { log_->add(text); }
    void receive(Tick /*message*/) {
      log_->add("tick");
      this_actor::stop();
    }

   private:
    support::Log<std::string>* log_;
  };
  support::Log<std::string> log;
  runtime.spawn_with<Full>(bounded(on_core(1)), &log);
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(log.entries(), (std::vector<std::string>{"mail", "once", "tick"}));
}

TEST_P(Ticks, for_others_need_room) {
  class Sleeper {
   public:
    explicit Sleeper(const support::Event* go) : go_(go) {}
    void started() {
      while (!go_->happened()) this_actor::sleep_for(1ms);
    }
    void receive(int /*message*/) {}
    void receive(Tick /*message*/) { this_actor::stop(); }

   private:
    const support::Event* go_;
  };
  support::Event go;
  const auto sleeper = runtime.spawn_with<Sleeper>(bounded(on_core(1)), &go);
  ASSERT_EQ(sleeper.send(1), bulkhead::Delivery::kQueued);
  support::Event over;
  runtime.spawn_with(on_core(0), [sleeper, &over] {
    send_every(1ms, sleeper, Tick{});
    while (!over.happened()) this_actor::sleep_for(1ms);
  });
  ASSERT_TRUE(
      support::eventually([&] { return runtime.stats().dropped_for(DropCause::kFull) >= 3; }));
  go.set();
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 1; }));
  over.set();
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
}

TEST_P(Ticks, without_a_period_and_outside_actors_are_refused_and_keep_nothing) {
  class Sink {
   public:
    void receive(const Counted& /*message*/) {}
  };
  const auto sink = runtime.spawn<Sink>();
  EXPECT_THROW(send_every(1ms, sink, Counted("")), std::logic_error);
  runtime.spawn([sink] {
    EXPECT_THROW(send_every(0ms, sink, Counted("")), std::invalid_argument);
    EXPECT_THROW(send_every(bulkhead::kForever, sink, Counted("")), std::invalid_argument);
    EXPECT_THROW(send_every(-1ms, sink, Counted("")), std::invalid_argument);
    EXPECT_EQ(Counted::alive(), 0);
  });
  wait_for_idle();
}

// --- where they go ---

TEST_P(Ticks, are_messages_as_any_other) {
  using Mine = bulkhead::Mailbox<std::string, int>;
  runtime.spawn_with<Mine>(on_core(1), [](Mine& mailbox) {
    const TimerRef timer = send_every(1ms, mailbox.address(), std::string(kLong));
    mailbox.address().send(7);
    EXPECT_EQ(mailbox.next<std::string>(), kLong);
    EXPECT_EQ(mailbox.next<int>(), 7);
    EXPECT_EQ(mailbox.next<std::string>(), kLong);
    int looked_at = 0;
    mailbox.next(
        bulkhead::when([&](const std::string& text) { return ++looked_at > 0 && text == kLong; },
                       [](const std::string& text) { EXPECT_EQ(text, kLong); }));
    this_actor::sleep_for(5ms);
    EXPECT_TRUE(cancel(timer));
    EXPECT_FALSE(mailbox.next_for(5ms, [](const std::string&) {}));
  });
  class Taker {
   public:
    void started() {
      const TimerRef timer = send_every(1ms, this_actor::address(this), std::string(kLong));
      const auto any = [](const std::string&) { return true; };
      EXPECT_EQ(this_actor::take_for<std::string>(this, support::kDeadline, any), kLong);
      this_actor::sleep_for(5ms);
      EXPECT_TRUE(cancel(timer));
      EXPECT_FALSE(this_actor::take_for<std::string>(this, 5ms, any).has_value());
      this_actor::stop();
    }
    void receive(const std::string& /*text*/) { ADD_FAILURE(); }
  };
  runtime.spawn_with<Taker>(on_core(0));
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
}

TEST_P(Ticks, cross_the_walls_around_isolated_actors) {
  class Reader {
   public:
    explicit Reader(support::Log<std::string>* texts) : texts_(texts) {}
    void receive(const std::string& text) {
      texts_->add(text);
      mine_ = text;
      if (++count_ == 5) this_actor::stop();
    }

   private:
    support::Log<std::string>* texts_;
    std::string mine_;
    int count_ = 0;
  };
  for (const bool from : {false, true}) {
    for (const bool to : {false, true}) {
      support::Log<std::string> texts;
      const auto options = [](bool wall, bulkhead::SpawnOptions plain) {
        return wall ? isolated(plain) : plain;
      };
      const auto reader = runtime.spawn_with<Reader>(options(to, on_core(1)), &texts);
      runtime.spawn_with(options(from, on_core(0)), [reader, &texts] {
        send_every(1ms, reader, std::string(100, 'x'));
        while (texts.size() < 5) this_actor::sleep_for(1ms);
      });
      ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
      for (const std::string& text : texts.entries()) EXPECT_EQ(text, kLong);
    }
  }
  wait_for_idle();  // what was on its way to those who have ended has gone
  EXPECT_EQ(bulkhead::heaps_live(), 0u);
}

TEST_P(Ticks, move_with_their_actor) {
  struct Draw {};
  class Owner {
   public:
    explicit Owner(std::atomic<int>* count) : count_(count) {}
    void started() { send_every(1ms, this_actor::address(this), Tick{}); }
    void receive(Tick /*message*/) {
      ++*count_;
      if (++mine_ == 20) this_actor::stop();
    }
    std::size_t receive(Draw /*message*/) { return this_actor::core(); }

   private:
    std::atomic<int>* count_;
    int mine_ = 0;
  };
  std::atomic<int> count{0};
  std::vector<Address<Owner>> owners;
  for (std::size_t i = 0; i < 10; ++i)
    owners.push_back(runtime.spawn_with<Owner>(on_core(0), &count));
  for (std::size_t core = 0; core < cores(); ++core) {
    runtime.spawn_with(pinned_to(core), [owners, &count] {
      while (count < 200) {
        for (const auto& owner : owners) static_cast<void>(owner.ask(Draw{}, support::kDeadline));
        this_actor::sleep_for(100us);
      }
    });
  }
  ASSERT_TRUE(runtime.wait_for_end(support::kDeadline));
  EXPECT_EQ(count, 200);
}

}  // namespace
