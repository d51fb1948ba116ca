// A18, A23: a dead-letter hook that spawns. What was wrong: it can be called while its core takes
// vacant slots in, for a message that was on its way to a former actor in one of them; the slot
// that its own spawn took was counted twice, and the core then gave back slots that it did not
// have.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/on_cores.hpp"

namespace {

using namespace bulkhead;
using namespace std::chrono_literals;

// Takes its time on the way into its signal, so that its receiver may end meanwhile.
struct Slow {
  Slow() = default;
  Slow(Slow&& /*other*/) noexcept {
    if (!in_actor()) std::this_thread::sleep_for(200us);
  }
};

struct Receiver {
  explicit Receiver(bool lives) {
    if (!lives) throw std::runtime_error("does not live");
  }
  void receive(Slow) {}
  void receive(int) { this_actor::stop(); }
};

class World {
  using Clock = std::chrono::steady_clock;

 public:
  explicit World(std::size_t cores) : runtime_(config(this, cores)) { runtime_.start(); }

  void run(Clock::duration time) {
    for (int i = 0; i < 4; ++i) runtime_.spawn([this] { replace(); });
    std::vector<std::thread> senders;
    for (int i = 0; i < 8; ++i) senders.emplace_back([this, i] { send(i); });
    std::this_thread::sleep_for(time);
    over_ = true;
    for (std::thread& sender : senders) sender.join();
    runtime_.shutdown(5s);
    EXPECT_EQ(runtime_.stats().actors(), 0u);
  }

 private:
  static constexpr std::size_t kPlaces = 64;

  static Config config(World* self, std::size_t cores) {
    Config config{.cores = cores, .max_actors = 400};
    config.on_dead_letter = [self](const DeadLetter& letter) { self->refused(letter); };
    config.on_death = [](const Death&) {};
    return config;
  }

  void refused(const DeadLetter& letter) {
    if (over_ || letter.message_type.find("Slow") == std::string_view::npos) return;
    for (int i = 0; i < 4; ++i) {
      try {
        runtime_.spawn<Receiver>(true).send(0);
        runtime_.spawn<Receiver>(false);
      } catch (const std::runtime_error&) {  // or there is no room
      }
    }
  }

  void replace() {
    std::mt19937 random(1);
    while (!over_) {
      std::vector<Address<Receiver>> mine;
      try {
        for (int i = 0; i < 60; ++i) mine.push_back(spawn<Receiver>(true));
      } catch (const SpawnError&) {
      }
      {
        const std::lock_guard guard(lock_);
        for (const auto& address : mine) places_[random() % kPlaces] = address;
      }
      this_actor::sleep_for(300us);
      for (const auto& address : mine) request_stop(address);
      this_actor::yield();
    }
  }

  void send(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed) + 2);
    while (!over_) {
      Address<Receiver> to;
      {
        const std::lock_guard guard(lock_);
        to = places_[random() % kPlaces];
      }
      if (to) static_cast<void>(to.send(Slow()));
    }
  }

  std::atomic<bool> over_{false};
  std::mutex lock_;
  std::vector<Address<Receiver>> places_ = std::vector<Address<Receiver>>(kPlaces);
  Runtime runtime_;
};

class HooksThatSpawn : public support::OnCores {};
ON_ONE_AND_SEVERAL_CORES(HooksThatSpawn);

TEST_P(HooksThatSpawn, while_slots_are_taken) { World(GetParam()).run(1s); }

}  // namespace
