// Compartments: the heap of an isolated actor (B2, B17, B21), and what crosses the wall around it
// (B4, B3): messages, answers, timers, exits, arguments. Their traps: traps.cpp.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/balance.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Isolation;
using bulkhead::Mailbox;
using bulkhead::Parcel;
using bulkhead::Reply;
using bulkhead::SpawnOptions;
using bulkhead::TrapKind;
using namespace std::chrono_literals;

// Long enough for memory of its own.
const std::string kLong(100, 'x');

SpawnOptions isolated(SpawnOptions options = {}, std::size_t heap_limit = std::size_t{1} << 20) {
  options.isolated = Isolation{.heap_limit = heap_limit};
  return options;
}

struct Text {
  std::string text;
};
struct Rows {
  std::map<std::string, std::vector<std::string>> rows;
};
struct Echo {
  using Answer = std::string;
  std::string text;
};
struct Keep {
  std::string text;
};
struct TakeBack {
  using Answer = std::vector<std::string>;
};
struct Used {
  using Answer = std::size_t;
};
struct Fill {
  std::size_t bytes;
};
struct Crash {};
struct End {};
struct TellLater {
  Address<class Listener> to;
  std::string text;
};
struct Image {
  Parcel<std::byte> pixels;
};

class Listener {
 public:
  explicit Listener(support::Log<std::string>* log) : log_(log) {}
  void receive(Text message) { log_->add(std::move(message.text)); }
  void receive(Image message) { log_->add(std::to_string(message.pixels.size())); }

 private:
  support::Log<std::string>* log_;
};

class Worker {
 public:
  Worker() = default;
  explicit Worker(std::string first) { kept_.push_back(std::move(first)); }

  std::string receive(Echo message) { return message.text + message.text; }
  void receive(Keep message) { kept_.push_back(std::move(message.text)); }
  std::vector<std::string> receive(TakeBack /*message*/) { return kept_; }
  std::size_t receive(Used /*message*/) { return this_actor::heap_used(); }
  void receive(Fill message) { blocks_.push_back(std::make_unique<std::byte[]>(message.bytes)); }
  void receive(Rows message) { rows_ = std::move(message); }
  void receive(TellLater message) {
    static_cast<void>(bulkhead::send_after(1ms, message.to, Text{message.text + "!"}));
    static_cast<void>(message.to.send(Text{message.text}));
  }
  void receive(Image message) { image_ = std::move(message.pixels); }
  void receive(Crash /*message*/) { std::abort(); }
  void receive(End /*message*/) { this_actor::stop(); }

 private:
  std::vector<std::string> kept_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  Rows rows_;
  Parcel<std::byte> image_;
};

class Compartments : public support::Running {
 protected:
  ~Compartments() override {
    runtime.shutdown(5s);
    EXPECT_EQ(bulkhead::heaps_live(), 0u);
    EXPECT_EQ(bulkhead::heap_bytes_used(), 0u);
    support::expect_balanced(runtime.stats());
  }
  Address<Worker> worker(std::size_t heap_limit = std::size_t{1} << 20) {
    return runtime.spawn_with<Worker>(isolated(on_core(1), heap_limit));
  }
};

// --- the heap ------------------------------------------------------------------------------------

TEST_P(Compartments, have_a_heap_each) {
  const auto first = worker();
  const auto second = worker();
  EXPECT_EQ(bulkhead::heaps_live(), bulkhead::has_heaps() ? 2u : 0u);
  const std::size_t before = first.ask(Used{}).value();
  first.send(Fill{1000});
  second.send(Fill{50'000});
  const std::size_t after = first.ask(Used{}).value();
  static_cast<void>(second.ask(Used{}));
  if (bulkhead::has_heaps()) {
    EXPECT_GE(after, before + 1000);
    EXPECT_LT(after, before + 2000);
    EXPECT_GE(bulkhead::heap_bytes_used(), after + 50'000);
    EXPECT_GE(bulkhead::heap_bytes_committed(), bulkhead::heap_bytes_used());
  }
}

TEST_P(Compartments, give_all_back_when_they_end_and_when_they_trap) {
  for (int round = 0; round < 20; ++round) {
    const auto one = worker();
    const auto other = worker();
    one.send(Fill{10'000});
    other.send(Fill{300'000});
    one.send(End{});
    other.send(Crash{});
    wait_for_idle();
    ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors() == 0; }));
    EXPECT_EQ(bulkhead::heaps_live(), 0u);
    EXPECT_EQ(bulkhead::heap_bytes_used(), 0u);
  }
}

// Over the limit is std::bad_alloc, which the actor may handle.
TEST_P(Compartments, have_a_limit_that_they_may_handle) {
  if (!bulkhead::has_heaps()) return;  // the process's memory has none
  std::atomic<int> caught{0};
  support::Log<std::size_t> used;
  const auto body = [&caught, &used] {
    std::vector<std::unique_ptr<std::byte[]>> blocks;
    try {
      for (;;) blocks.push_back(std::make_unique<std::byte[]>(1000));
    } catch (const std::bad_alloc&) {
      used.add(this_actor::heap_used());
      ++caught;
    }
    blocks.clear();
    used.add(this_actor::heap_used());
    blocks.push_back(std::make_unique<std::byte[]>(1000));  // there is room again
  };
  runtime.spawn_with(isolated(on_core(1), 64 << 10), body);
  wait_for_idle();
  EXPECT_EQ(caught, 1);
  ASSERT_EQ(used.size(), 2u);
  EXPECT_LE(used.entries()[0], std::size_t{64} << 10);
  EXPECT_GT(used.entries()[0], std::size_t{60} << 10);
  EXPECT_LT(used.entries()[1], 1000u) << "what the vector keeps";
}

// Unhandled, it is an exit with cause memory.
TEST_P(Compartments, that_exceed_their_limit_end_for_that) {
  if (!bulkhead::has_heaps()) return;
  support::Log<Exit> ends;
  runtime.spawn_with<Mailbox<Down>>(on_core(0), [&](Mailbox<Down>& mailbox) {
    bulkhead::MonitorRef monitor;
    SpawnOptions options = isolated(on_core(1), 64 << 10);
    options.monitor = &monitor;
    const auto greedy = bulkhead::spawn_with<Worker>(options);
    greedy.send(Fill{1'000'000});
    ends.add(mailbox.next<Down>().exit);
  });
  wait_for_idle();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends.entries().front().trap(), TrapKind::kMemory);
}

TEST_P(Compartments, give_std_pmr_their_heap) {
  if (!bulkhead::has_heaps()) return;
  support::Log<std::size_t> used;
  runtime.spawn_with(isolated(on_core(1)), [&used] {
    used.add(this_actor::heap_used());
    std::pmr::vector<int> numbers(1000, 7, std::pmr::new_delete_resource());
    used.add(this_actor::heap_used());
  });
  wait_for_idle();
  EXPECT_GE(used.entries()[1], used.entries()[0] + 4000);
}

// Other code of the process is not theirs, and what it allocates neither.
TEST_P(Compartments, do_not_pay_for_others) {
  if (!bulkhead::has_heaps()) return;
  const auto one = worker();
  const std::size_t before = one.ask(Used{}).value();
  std::vector<std::string> many(1000, kLong);
  for (const std::string& each : many) one.send(Echo{each});
  EXPECT_EQ(one.ask(Used{}).value(), before);
}

// --- the wall ------------------------------------------------------------------------------------

TEST_P(Compartments, are_sent_messages_that_become_their_own) {
  const auto one = worker();
  for (int i = 0; i < 100; ++i) one.send(Keep{kLong + std::to_string(i)});
  const auto kept = one.ask(TakeBack{});
  ASSERT_TRUE(kept.has_value());
  ASSERT_EQ(kept->size(), 100u);
  EXPECT_EQ(kept->back(), kLong + "99");
  Rows rows;
  rows.rows["a" + kLong] = {kLong, kLong};
  one.send(std::move(rows));
  one.send(Crash{});  // what it has is gone, and nothing else
  EXPECT_EQ(kept->front(), kLong + "0");
}

TEST_P(Compartments, answer_what_outlives_them) {
  for (int round = 0; round < 20; ++round) {
    const auto one = worker();
    const auto answer = one.ask(Echo{kLong});
    one.send(Crash{});
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(*answer, kLong + kLong);
  }
}

TEST_P(Compartments, send_what_outlives_them) {
  support::Log<std::string> log;
  const auto listener = runtime.spawn_with<Listener>(on_core(0), &log);
  const auto one = worker();
  one.send(TellLater{listener, kLong});
  ASSERT_TRUE(support::eventually([&] { return log.size() == 2; }));
  one.send(Crash{});
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<std::string>{kLong, kLong + "!"}));
}

TEST_P(Compartments, talk_to_each_other) {
  std::atomic<int> right{0};
  const auto echo = worker();
  for (int i = 0; i < 4; ++i) {
    runtime.spawn_with(isolated(on_core(static_cast<std::size_t>(i))), [echo, &right] {
      for (int round = 0; round < 200; ++round) {
        const std::string text(static_cast<std::size_t>(round), 'a');
        const auto answer = echo.ask(Echo{text});
        if (answer.has_value() && *answer == text + text) ++right;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(right, 800);
}

TEST_P(Compartments, are_constructed_from_what_has_crossed) {
  auto first = std::make_unique<std::string>(kLong);
  const auto one = runtime.spawn_with<Worker>(isolated(on_core(1)), *first);
  first.reset();
  const auto kept = one.ask(TakeBack{});
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->front(), kLong);
}

TEST_P(Compartments, hear_why_others_ended_by_text_of_their_own) {
  support::Log<std::string> log;
  runtime.spawn_with<Mailbox<Down>>(isolated(on_core(1)), [&log](Mailbox<Down>& mailbox) {
    const auto victim = bulkhead::spawn_with<Worker>(isolated());
    static_cast<void>(this_actor::monitor(victim.pid()));
    bulkhead::exit(victim.pid(), Exit::custom("reason " + kLong));
    log.add(std::string(mailbox.next<Down>().exit.message()));
  });
  wait_for_idle();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log.entries().front(), "reason " + kLong);
}

TEST_P(Compartments, hand_parcels_over) {
  support::Log<std::string> log;
  const auto listener = runtime.spawn_with<Listener>(on_core(0), &log);
  const auto one = worker();
  one.send(Image{Parcel<std::byte>(100'000)});
  if (bulkhead::has_heaps()) {
    EXPECT_LT(one.ask(Used{}).value(), 10'000u) << "they are outside of all heaps";
  }
  runtime.spawn_with(isolated(on_core(1)), [listener] {
    static_cast<void>(listener.send(Image{Parcel<std::byte>(5'000)}));
    std::abort();
  });
  one.send(Crash{});
  wait_for_idle();
  EXPECT_EQ(log.entries(), (std::vector<std::string>{"5000"}));
}

// One that is stuck keeps its thread, and its heap; when it comes home to another thread, the heap
// goes along, and the thread that it leaves is nobody's.
TEST_P(Compartments, keep_their_heap_when_they_are_left_and_come_home) {
  if (!bulkhead::has_heaps()) return;
  for (int round = 0; round < 5; ++round) {
    support::Log<std::size_t> used;
    const std::size_t outside = bulkhead::heap_bytes_used();
    runtime.spawn_with(isolated(on_core(1)), [&used] {
      const auto wait = [] {
        const auto end = std::chrono::steady_clock::now() + 30ms;
        while (std::chrono::steady_clock::now() < end) {
        }
      };
      std::vector<std::unique_ptr<std::string>> texts;
      for (int i = 0; i < 3; ++i) {
        wait();
        texts.push_back(std::make_unique<std::string>(10'000, 'x'));
        this_actor::sleep_for(1ms);
        texts.push_back(std::make_unique<std::string>(10'000, 'y'));
        used.add(this_actor::heap_used());
      }
    });
    wait_for_idle();
    ASSERT_EQ(used.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_GE(used.entries()[i], (i + 1) * 20'000);
    EXPECT_EQ(bulkhead::heap_bytes_used(), outside);
    // Others take from the process, on whatever thread.
    for (std::size_t core = 0; core < cores(); ++core) {
      runtime.spawn_with(on_core(core), [] { static_cast<void>(std::string(10'000, 'z')); });
    }
    wait_for_idle();
    EXPECT_EQ(bulkhead::heaps_live(), 0u);
  }
}

// What an isolated actor gives to those that it spawns is theirs.
TEST_P(Compartments, spawn_others_that_outlive_them) {
  support::Log<std::string> log;
  runtime.spawn_with(isolated(on_core(0)), [&log] {
    const auto child = bulkhead::spawn_with<Worker>(SpawnOptions{}, kLong + "1");
    const auto twin = bulkhead::spawn_with<Worker>(isolated(), kLong + "2");
    for (const auto& each : {child, twin}) {
      bulkhead::spawn([each, &log] {
        this_actor::sleep_for(2ms);
        const auto kept = each.ask(TakeBack{});
        log.add(kept ? kept->front() : "nothing");
      });
    }
    std::abort();
  });
  ASSERT_TRUE(support::eventually([&] { return log.size() == 2; }));
  wait_for_idle();
  for (const std::string& each : log.entries()) EXPECT_EQ(each.size(), 101u) << each;
}

// --- what makes no sense -------------------------------------------------------------------------

struct Shared {
  std::shared_ptr<const int> number;
};
class Sharing {
 public:
  void receive(Shared message) { number_ = std::move(message.number); }

 private:
  std::shared_ptr<const int> number_;
};

TEST_P(Compartments, refuse_what_cannot_cross) {
  support::Log<std::string> log;
  runtime.spawn_with<Mailbox<Down>>(on_core(0), [&](Mailbox<Down>& mailbox) {
    bulkhead::MonitorRef monitor;
    SpawnOptions options = isolated(on_core(1));
    options.monitor = &monitor;
    const auto sharing = bulkhead::spawn_with<Sharing>(options);
    sharing.send(Shared{std::make_shared<const int>(7)});
    log.add(std::string(mailbox.next<Down>().exit.message()));
  });
  wait_for_idle();
  const auto ordinary = runtime.spawn_with<Sharing>(on_core(0));
  runtime.spawn_with(isolated(on_core(1)), [ordinary, &log] {
    try {
      ordinary.send(Shared{std::make_shared<const int>(7)});
    } catch (const std::logic_error& error) {
      log.add(error.what());
    }
  });
  wait_for_idle();
  ASSERT_EQ(log.size(), 2u);
  for (const std::string& each : log.entries()) {
    EXPECT_NE(each.find("cannot cross to or from an isolated actor"), std::string::npos) << each;
    EXPECT_NE(each.find("Shared"), std::string::npos) << each;
  }
}

TEST_P(Compartments, refuse_limits_that_make_no_sense) {
  for (const std::size_t limit : {std::size_t{0}, std::size_t{4095}, std::size_t{1} << 40}) {
    EXPECT_THROW(static_cast<void>(worker(limit)), bulkhead::ConfigError) << limit;
  }
  struct Large {
    std::array<std::byte, 10'000> bytes;
    void receive(End /*message*/) {}
  };
  if (bulkhead::has_heaps()) {
    EXPECT_THROW(static_cast<void>(runtime.spawn_with<Large>(isolated({}, 8192))),
                 bulkhead::ConfigError);
  }
  EXPECT_THROW(static_cast<void>(runtime.spawn_with(isolated(), [text = kLong] {})),
               bulkhead::ConfigError);
  EXPECT_THROW(static_cast<void>(this_actor::heap_used()), std::logic_error);
  EXPECT_THROW(static_cast<void>(this_actor::heap_limit()), std::logic_error);
  EXPECT_EQ(bulkhead::heaps_live(), 0u);
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(Compartments);
