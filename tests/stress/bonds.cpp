// C12: a storm of spawns, links, monitors, exits and kills at random, and what must hold when it
// has calmed down: links are seen from both ends and lead to the living only; each monitor has told
// once, or has been ended, or watches one that lives; everybody has ended for a reason that exists.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <unordered_set>
#include <vector>

#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Config;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::MonitorRef;
using bulkhead::Pid;
using bulkhead::Runtime;
using bulkhead::SpawnOptions;
using bulkhead::this_actor::Flush;
using support::Random;
using namespace std::chrono_literals;

constexpr std::size_t kMost = 300;  // alive at a time, about

class Member;

/// What an actor has to say of itself when all is calm.
struct Report {
  Pid pid;
  std::vector<Pid> links;
  std::vector<Pid> watched;  // by monitors that have not told
};

struct World {
  static constexpr std::size_t kKnown = 64;

  /// Somebody who is or was alive, if any.
  [[nodiscard]] Pid any(Random& random) const {
    const std::uint64_t bits = known[random.below(kKnown)].load();
    return Pid(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
  }
  void make_known(Pid pid, Random& random) {
    known[random.below(kKnown)] = std::uint64_t{pid.generation()} << 32 | pid.index();
    const std::lock_guard guard(lock);
    living.insert(pid);
  }

  std::array<std::atomic<std::uint64_t>, kKnown> known{};
  std::atomic<std::size_t> alive{0};
  std::atomic<std::uint64_t> wrong{0};  // told twice, or of nothing
  std::atomic<bool> over{false};
  std::size_t cores = 1;

  std::mutex lock;
  std::vector<Report> reports;
  std::unordered_set<Pid> living;
  std::set<std::string> unknown_reasons;
};

struct Act {
  int times;
};
struct Tell {};

class Member {
 public:
  Member(World* world, std::uint64_t seed, bool traps)
      : world_(world), random_(seed), traps_(traps) {
    ++world_->alive;
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() { --world_->alive; }

  void started() {
    if (traps_) this_actor::trap_exits(true);
    world_->make_known(this_actor::pid(), random_);
  }

  void receive(Act act) {
    for (int i = 0; i < act.times && !world_->over; ++i) do_something();
    if (world_->over) return;
    if (random_.one_in(30)) return this_actor::stop();
    if (random_.one_in(60)) throw std::runtime_error("it failed");
    if (random_.one_in(4)) this_actor::sleep_for(std::chrono::microseconds(random_.below(300)));
    this_actor::address(this).send(Act{3});
  }

  void receive(Down down) {
    const auto watched = watched_.find(key(down.monitor));
    if (watched == watched_.end() || watched->second != down.actor) {
      ++world_->wrong;
      return;
    }
    watched_.erase(watched);
  }

  void receive(Exited /*exited*/) {
    if (!traps_) ++world_->wrong;
  }

  void receive(Tell /*message*/) {
    Report report{this_actor::pid(), this_actor::links(), {}};
    for (const auto& [monitor, actor] : watched_) report.watched.push_back(actor);
    const std::lock_guard guard(world_->lock);
    world_->reports.push_back(std::move(report));
  }

 private:
  static std::uint64_t key(MonitorRef monitor) {
    return std::uint64_t{monitor.generation()} << 32 | monitor.index();
  }

  void do_something() {
    const Pid other = world_->any(random_);
    switch (random_.below(12)) {
      case 0:
      case 1:
        this_actor::link(other);
        break;
      case 2:
        this_actor::unlink(other);
        break;
      case 3:
      case 4:
        watch(other);
        break;
      case 5:
      case 6:
        end_a_watch();
        break;
      case 7:
        if (random_.one_in(3)) static_cast<void>(bulkhead::exit(other, Exit::custom("overboard")));
        break;
      case 8:
        if (random_.one_in(10)) static_cast<void>(bulkhead::kill(other));
        break;
      case 9:
        static_cast<void>(bulkhead::exit(other, Exit::normal()));  // ends nobody but oneself
        break;
      case 10:
        if (world_->alive < kMost) make_another();
        break;
      default:
        this_actor::yield();
        break;
    }
  }

  void watch(Pid other) {
    if (other == this_actor::pid()) return;
    const MonitorRef monitor = this_actor::monitor(other);
    if (!watched_.emplace(key(monitor), other).second) ++world_->wrong;
  }

  void end_a_watch() {
    if (watched_.empty()) return;
    auto watched = watched_.begin();
    std::advance(watched, random_.below(static_cast<std::uint32_t>(watched_.size())));
    const MonitorRef monitor(static_cast<std::uint32_t>(watched->first),
                             static_cast<std::uint32_t>(watched->first >> 32));
    const bool flush = random_.one_in(2);
    // Without flush, the message that it says is there is awaited.
    if (this_actor::demonitor(monitor, flush ? Flush::kYes : Flush::kNo) || flush) {
      watched_.erase(watched);
    }
  }

  void make_another() {
    SpawnOptions options;
    MonitorRef monitor;
    if (random_.one_in(2)) options.core = random_.below(static_cast<std::uint32_t>(world_->cores));
    options.linked = random_.one_in(2);
    if (random_.one_in(2)) options.monitor = &monitor;
    const auto made =
        bulkhead::spawn_with<Member>(options, world_, random_.seed(), random_.one_in(3));
    if (options.monitor != nullptr) watched_.emplace(key(monitor), made.pid());
    made.send(Act{3});
  }

  World* world_;
  Random random_;
  bool traps_;
  std::map<std::uint64_t, Pid> watched_;  // by monitor
};

class BondStorm : public support::OnCores {
 protected:
  Config with_death(World& world) {
    Config config = OnCores::config();
    config.on_death = [&world](const bulkhead::Death& death) {
      const std::lock_guard guard(world.lock);
      world.living.erase(death.actor);
      const std::string reason = to_string(death.exit);
      if (reason != "normal" && reason != "overboard" && reason != "killed" &&
          reason != "no such actor" && reason != "panic: it failed (std::runtime_error)") {
        world.unknown_reasons.insert(reason);
      }
    };
    return config;
  }

  static void round(Runtime& runtime, World& world, Random& random) {
    world.over = false;
    for (std::size_t i = 0; i < 40; ++i) {
      runtime.spawn_with<Member>(on_core(i), &world, random.seed(), random.one_in(3)).send(Act{3});
    }
    const auto end = support::Clock::now() + 50ms;
    while (support::Clock::now() < end && world.alive != 0) {
      std::this_thread::sleep_for(1ms);
      const Pid other = world.any(random);
      if (random.one_in(2)) static_cast<void>(bulkhead::exit(other, Exit::custom("overboard")));
      if (random.one_in(10)) static_cast<void>(bulkhead::kill(other));
    }
    world.over = true;
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  }

  static void expect_laws(Runtime& runtime, World& world) {
    std::unordered_set<Pid> living;
    {
      const std::lock_guard guard(world.lock);
      world.reports.clear();
      living = world.living;
    }
    EXPECT_EQ(world.alive, living.size());
    for (const Pid pid : living) Address<Member>(pid).send(Tell{});
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
    const std::lock_guard guard(world.lock);
    EXPECT_EQ(world.reports.size(), living.size());
    EXPECT_EQ(world.wrong, 0u);
    EXPECT_TRUE(world.unknown_reasons.empty()) << *world.unknown_reasons.begin();
    std::set<std::pair<Pid, Pid>> links;
    for (const Report& report : world.reports) {
      for (const Pid other : report.links) {
        links.emplace(report.pid, other);
        EXPECT_TRUE(living.contains(other)) << to_string(report.pid) << " is linked to one dead";
      }
      for (const Pid other : report.watched) {
        EXPECT_TRUE(living.contains(other)) << to_string(report.pid) << " was not told";
      }
    }
    for (const auto& [one, other] : links) {
      EXPECT_TRUE(links.contains({other, one})) << to_string(one) << to_string(other);
    }
  }
};
ON_ONE_AND_SEVERAL_CORES(BondStorm);

// C12
TEST_P(BondStorm, leaves_links_that_both_ends_know_and_tells_once) {
  Random random(support::seed_of_test());
  World world;
  world.cores = cores();
  const auto end = support::Clock::now() + support::stress_time();
  Runtime runtime(with_death(world));
  runtime.start();
  while (support::Clock::now() < end && !HasFailure()) {
    round(runtime, world, random);
    expect_laws(runtime, world);
    // At times all go, by kill, along with those who are linked to them.
    if (!random.one_in(3)) continue;
    std::unordered_set<Pid> living;
    {
      const std::lock_guard guard(world.lock);
      living = world.living;
    }
    for (const Pid pid : living) static_cast<void>(bulkhead::kill(pid));
    ASSERT_TRUE(support::eventually([&] { return world.alive == 0; }));
  }
  EXPECT_EQ(world.wrong, 0u);
  runtime.shutdown(0ms);
  EXPECT_EQ(world.alive, 0u);
}

}  // namespace
