// C6: random programs over channels, with selects, timeouts, failures, and the end of the runtime
// in the middle of them. Each value that was sent is received once, or still there at the end; each
// one that was not is its sender's.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/live.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/seed.hpp"

namespace {

using bulkhead::after;
using bulkhead::ChannelError;
using bulkhead::on_receive;
using bulkhead::on_send;
using bulkhead::Receiver;
using bulkhead::SelectArm;
using bulkhead::Sender;
using support::Live;
using support::Random;
using namespace std::chrono_literals;

using Received = std::expected<Live, ChannelError>;
using Sent = std::expected<void, ChannelError>;

constexpr std::size_t kChannels = 5;
constexpr std::size_t kMostValues = std::size_t{1} << 20;

/// What became of a value.
struct Fate {
  std::atomic<std::uint8_t> sent{0};
  std::atomic<std::uint8_t> kept{0};
  std::atomic<std::uint8_t> received{0};
};

struct World {
  std::vector<bulkhead::Channel<Live>> channels;
  std::vector<Fate> fates = std::vector<Fate>(kMostValues);
  std::atomic<int> next{0};
  std::atomic<bool> over{false};
  std::atomic<int> unwound{0};
  std::atomic<std::uint64_t> selected{0};

  [[nodiscard]] Fate& fate(int value) { return fates[static_cast<std::size_t>(value)]; }
  [[nodiscard]] bool ended() const { return over || next + 64 > static_cast<int>(kMostValues); }
};

/// One actor or thread at its random work.
class Worker {
 public:
  Worker(World& world, std::uint64_t seed, bool may_wait_for_ever)
      : world_(world), random_(seed), may_wait_for_ever_(may_wait_for_ever) {
    for (const auto& channel : world.channels) {
      senders_.push_back(channel.sender);
      receivers_.push_back(channel.receiver);
    }
  }

  void work() {
    struct Mark {
      World& world;
      bool done = false;
      ~Mark() { world.unwound += done ? 0 : 1; }
    } mark{world_};
    while (!world_.ended()) step();
    mark.done = true;
  }

 private:
  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
        offer([this](Live& value) { return any_sender().try_send(value); });
        break;
      case 2:
      case 3:
        offer([this](Live& value) { return any_sender().send_for(value, patience()); });
        break;
      case 4:
      case 5:
        take(any_receiver().try_recv());
        break;
      case 6:
      case 7:
        take(any_receiver().recv_for(patience()));
        break;
      case 8:
        if (may_wait_for_ever_ && random_.one_in(50)) {
          if (random_.one_in(2)) {
            take(any_receiver().recv());
          } else {
            offer([this](Live& value) { return any_sender().send_for(value, bulkhead::kForever); });
          }
        }
        break;
      default:
        select();
    }
    if (bulkhead::in_actor() && random_.one_in(20)) bulkhead::this_actor::yield();
  }

  // Up to two values, five arms of any kind.
  void select() {
    std::array<Live, 2> values{make(), make()};
    const std::array<int, 2> numbers{values[0].value(), values[1].value()};
    std::array<bool, 2> sent{};
    const bool fails = bulkhead::in_actor() && random_.one_in(200);
    std::deque<std::optional<bulkhead::core::ReceiveArmOf<Live, Take>>> receives;
    std::deque<std::optional<bulkhead::core::SendArmOf<Live, Note>>> sends;
    std::vector<SelectArm*> arms;
    auto time = after(patience(), [] {});
    for (std::uint32_t i = random_.below(5) + 1; i > 0; --i) {
      if (random_.one_in(2)) {
        arms.push_back(&receives.emplace_back().emplace(
            bulkhead::ChannelAccess::core_of(any_receiver()), Take{this, fails}));
      } else {
        const std::size_t which = random_.below(2);
        arms.push_back(&sends.emplace_back().emplace(bulkhead::ChannelAccess::core_of(any_sender()),
                                                     values[which], Note{&sent[which]}));
      }
    }
    if (random_.one_in(8)) arms.push_back(arms.front());
    struct Account {
      Worker& worker;
      const std::array<int, 2>& numbers;
      const std::array<Live, 2>& values;
      const std::array<bool, 2>& sent;
      ~Account() {
        for (std::size_t i = 0; i < 2; ++i) {
          Fate& fate = worker.world_.fate(numbers[i]);
          if (sent[i]) ++fate.sent;
          if (values[i].value() == numbers[i]) ++fate.kept;
        }
      }
    } account{*this, numbers, values, sent};
    try {
      switch (random_.below(4)) {
        case 0:
          world_.selected += bulkhead::try_select(arms) ? 1 : 0;
          break;
        case 1:
          world_.selected += bulkhead::select_for(patience(), arms) ? 1 : 0;
          break;
        default:
          arms.push_back(&time);
          static_cast<void>(bulkhead::select(arms));
          ++world_.selected;
      }
    } catch (const std::runtime_error&) {
    }
  }

  template <class Send>
  void offer(Send send) {
    Live value = make();
    const int number = value.value();
    struct Account {
      Worker& worker;
      const Live& value;
      int number;
      ~Account() {
        if (value.value() == number) ++worker.world_.fate(number).kept;
      }
    } account{*this, value, number};
    if (send(value)) ++world_.fate(number).sent;
  }

  void take(Received received) {
    if (received) ++world_.fate(received->value()).received;
  }

  struct Take {
    Worker* worker;
    bool fails;
    void operator()(Received received) const {
      worker->take(std::move(received));
      if (fails) throw std::runtime_error("an arm that fails");
    }
  };
  struct Note {
    bool* sent;
    void operator()(Sent result) const { *sent = result.has_value(); }
  };

  [[nodiscard]] Live make() { return Live(world_.next++); }
  [[nodiscard]] const Sender<Live>& any_sender() { return senders_[random_.below(kChannels)]; }
  [[nodiscard]] const Receiver<Live>& any_receiver() {
    return receivers_[random_.below(kChannels)];
  }
  [[nodiscard]] bulkhead::Timeout patience() {
    return std::chrono::microseconds(random_.below(4) * random_.below(60));
  }

  World& world_;
  Random random_;
  bool may_wait_for_ever_;
  std::vector<Sender<Live>> senders_;
  std::vector<Receiver<Live>> receivers_;
};

class RandomChannels : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(RandomChannels);

TEST_P(RandomChannels, every_value_is_received_once_or_kept) {
  const std::uint64_t seed = support::seed_of_test();
  Random random(seed);
  const long before = Live::values();
  const auto end = support::Clock::now() + support::stress_time();
  std::uint64_t selected = 0;
  std::uint64_t received = 0;
  int unwound = 0;
  for (int life = 0; life < 3 || support::Clock::now() < end; ++life) {
    World world;
    for (std::size_t i = 0; i < kChannels; ++i) {
      world.channels.push_back(i == 4 ? bulkhead::make_channel<Live>()
                                      : bulkhead::make_channel<Live>(i * random.below(3)));
    }
    {
      bulkhead::Runtime runtime(config());
      runtime.start();
      for (std::size_t i = 0; i < 12; ++i) {
        runtime.spawn_with(on_core(i),
                           [&world, own = random.seed()] { Worker(world, own, true).work(); });
      }
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&world, own = random.seed()] { Worker(world, own, false).work(); });
      }
      std::this_thread::sleep_for(30ms);
      // Some of them wait for ever, and some are in the middle of something.
      const bool in_the_middle = random.one_in(2);
      if (!in_the_middle) world.over = true;
      static_cast<void>(support::stderr_of([&] { runtime.shutdown(in_the_middle ? 0ms : 1ms); }));
      world.over = true;
      for (std::thread& thread : threads) thread.join();
    }
    for (auto& channel : world.channels) {
      while (auto left = channel.receiver.try_recv()) ++world.fate(left->value()).received;
    }
    for (int i = 0; i < world.next; ++i) {
      const Fate& fate = world.fate(i);
      ASSERT_EQ(fate.kept + fate.received, 1) << "value " << i << " of life " << life;
      ASSERT_LE(fate.sent, fate.received) << "value " << i << " of life " << life;
      received += fate.received;
    }
    world.channels.clear();
    ASSERT_EQ(Live::values(), before);
    selected += world.selected;
    unwound += world.unwound;
  }
  EXPECT_GT(received, 0u);
  EXPECT_GT(selected, 0u);
  EXPECT_GT(unwound, 0) << "some were ended in the middle of it";
}

}  // namespace
