// Bulkhead's works that make and end many actors.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

/// A node of the tree: reports the sum of its leaves, and ends.
class SkynetNode {
 public:
  SkynetNode(Port<Sum> parent, std::uint64_t first, std::uint64_t leaves, std::uint64_t smallest)
      : parent_(parent), first_(first), leaves_(leaves), smallest_(smallest) {}

  void started() {
    if (leaves_ <= smallest_) {
      report(sequential_sum(first_, leaves_));
      return;
    }
    const std::uint64_t part = leaves_ / 10;
    for (std::uint64_t child = 0; child < 10; ++child) {
      ::bulkhead::spawn<SkynetNode>(this_actor::address(this), first_ + child * part, part,
                                    smallest_);
    }
  }
  void receive(Sum sum) {
    sum_ += sum.value;
    if (++reports_ == 10) report(sum_);
  }

 private:
  void report(std::uint64_t sum) {
    parent_.send(Sum{sum});
    this_actor::stop();
  }

  Port<Sum> parent_;
  std::uint64_t first_;
  std::uint64_t leaves_;
  std::uint64_t smallest_;
  std::uint64_t sum_ = 0;
  unsigned reports_ = 0;
};

inline Result run_skynet(const Request& request, std::uint64_t smallest) {
  require_power_of_ten(request.n);
  System system(request.cores);
  const auto began = Clock::now();
  system->spawn<SkynetNode>(system.observer(), std::uint64_t{0}, request.n, smallest);
  const std::uint64_t sum = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, sum_below(request.n), "sum of the leaves");
  // A tree below the smallest size is one node all the same.
  const std::uint64_t nodes = std::max<std::uint64_t>(1, skynet_nodes(request.n, smallest));
  system->wait_for_idle();
  require_equal(system->stats().actors_ended, nodes, "nodes that ended");
  return Result(nodes, elapsed).extra("peak_rss_mb", peak_rss_mb());
}

inline Result skynet(const Request& request) { return run_skynet(request, 1); }
inline Result skynet_seq(const Request& request) { return run_skynet(request, 1000); }

struct NextBatch {};

/// Spawns actors in batches, the next when all of the last have ended. `spawn_one` spawns one.
template <class SpawnOne>
class Spawner {
 public:
  Spawner(std::atomic<std::uint64_t>* alive, Port<Sum> observer, std::uint64_t wanted,
          std::uint64_t batch, SpawnOne spawn_one)
      : alive_(alive),
        observer_(observer),
        wanted_(wanted),
        batch_(batch),
        spawn_one_(std::move(spawn_one)) {}

  void receive(NextBatch) {
    if (spawned_ == wanted_) {
      observer_.send(Sum{spawned_});
      return;
    }
    const std::uint64_t size = std::min(batch_, wanted_ - spawned_);
    alive_->store(size, std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < size; ++i) spawn_one_();
    spawned_ += size;
  }

 private:
  std::atomic<std::uint64_t>* alive_;
  Port<Sum> observer_;
  std::uint64_t wanted_;
  std::uint64_t batch_;
  std::uint64_t spawned_ = 0;
  SpawnOne spawn_one_;
};

/// The runtime's death hook observes the ends. `spawn_one` counts in `ran` the actors that ran.
template <class SpawnOne>
Result run_spawns(const Request& request, std::uint64_t batch, std::atomic<std::uint64_t>& ran,
                  SpawnOne spawn_one) {
  std::atomic<std::uint64_t> alive{0};
  Port<NextBatch> spawner;
  ::bulkhead::Config config;
  config.on_death = [&alive, &spawner](const ::bulkhead::Death& death) {
    if (!death.exit.is_normal()) return;  // not of ours: the runtime's shutdown
    if (alive.fetch_sub(1, std::memory_order_acq_rel) == 1) spawner.send(NextBatch{});
  };
  System system(request.cores, 1, std::move(config));
  spawner = system->spawn<Spawner<SpawnOne>>(&alive, system.observer(), request.n, batch,
                                             std::move(spawn_one));
  const auto began = Clock::now();
  spawner.send(NextBatch{});
  require_equal(system.total(), request.n, "actors spawned");
  const auto elapsed = Clock::now() - began;
  require_equal(ran.load(), request.n, "actors that ran");
  return Result(request.n, elapsed).extra("batch", static_cast<double>(batch));
}

constexpr std::uint64_t kBatch = 1000;

class ShortLived {
 public:
  explicit ShortLived(std::atomic<std::uint64_t>* ran) : ran_(ran) {}

  void started() {
    ran_->fetch_add(1, std::memory_order_relaxed);
    this_actor::stop();
  }

 private:
  std::atomic<std::uint64_t>* ran_;
};

inline Result spawn_end(const Request& request) {
  std::atomic<std::uint64_t> ran{0};
  return run_spawns(request, kBatch, ran, [&ran] { ::bulkhead::spawn<ShortLived>(&ran); });
}

/// They block once in their lives, so that each has a stack of its own while the others run.
inline Result spawn_end_stack(const Request& request) {
  std::atomic<std::uint64_t> ran{0};
  return run_spawns(request, kBatch, ran, [&ran] {
    ::bulkhead::spawn([&ran] {
      this_actor::yield();
      ran.fetch_add(1, std::memory_order_relaxed);
    });
  });
}

struct WakeUp {};

/// Waits for one message. Each knows the one that was made before it, and passes the message on, so
/// that nobody keeps a list of all.
class Sleeper {
 public:
  Sleeper(Address<Sleeper> previous, Port<Sum> observer)
      : previous_(previous), observer_(observer) {}

  void started() { awake_ = 1; }
  void receive(WakeUp) {
    observer_.send(Sum{awake_});
    if (previous_) previous_.send(WakeUp{});
  }

 private:
  Address<Sleeper> previous_;
  Port<Sum> observer_;
  std::uint64_t awake_ = 0;
};

struct MakeSleepers {
  std::uint64_t count = 0;
  Port<Sum> observer;
};

class SleeperMaker {
 public:
  /// Answers with the last one.
  Address<Sleeper> receive(MakeSleepers wanted) {
    Address<Sleeper> last;
    for (std::uint64_t i = 0; i < wanted.count; ++i) {
      last = ::bulkhead::spawn<Sleeper>(last, wanted.observer);
    }
    return last;
  }
};

/// Many actors that have started and wait for a message.
class Sleepers {
 public:
  explicit Sleepers(const Request& request)
      : count_(request.n),
        system_(request.cores, request.n),
        maker_(system_->spawn<SleeperMaker>()) {
    system_->wait_for_idle();
  }

  void make() {
    const auto last = maker_.ask(MakeSleepers{count_, system_.observer()}, ::bulkhead::kForever);
    require(last.has_value(), "the actors are made");
    last_ = *last;
    system_->wait_for_idle();
  }

  /// Each must still be there to take its message.
  void wake_all() {
    last_.send(WakeUp{});
    require_equal(system_.total(), count_, "actors that had started and were alive");
  }

 private:
  std::uint64_t count_;
  System system_;
  Address<SleeperMaker> maker_;
  Address<Sleeper> last_;
};

inline Result idle_memory(const Request& request) {
  Sleepers sleepers(request);
  const std::uint64_t before = resident_bytes();
  const auto began = Clock::now();
  sleepers.make();
  const auto elapsed = Clock::now() - began;
  const std::uint64_t after = resident_bytes();
  sleepers.wake_all();
  return Result(request.n, elapsed)
      .extra("bytes_per_actor", (static_cast<double>(after) - static_cast<double>(before)) /
                                    static_cast<double>(request.n))
      .extra("state_bytes", static_cast<double>(sizeof(Sleeper)));
}

inline Result idle_cpu(const Request& request) {
  Sleepers sleepers(request);
  sleepers.make();
  const auto began = Clock::now();
  stay_idle_until_released();
  const auto elapsed = Clock::now() - began;
  sleepers.wake_all();
  return Result(0, elapsed);
}

}  // namespace bench
