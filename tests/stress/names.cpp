// C13: a storm of registrations, look-ups, deaths and names that change hands, on all cores and
// from threads outside, and what must hold all the time: no look-up gives an actor that was dead
// before it began; nor one that never wanted the name; and who has a name finds itself by it as
// long as it lives, so that there are no two who have it.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "support/on_cores.hpp"
#include "support/seed.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Config;
using bulkhead::NamedAddress;
using bulkhead::Pid;
using bulkhead::RegisterError;
using bulkhead::Runtime;
using support::Random;
using namespace std::chrono_literals;

constexpr std::size_t kMost = 100;  // alive at a time, about
constexpr std::size_t kNames = 12;
constexpr std::size_t kKept = 6;    // the first ones are given up by death only
constexpr std::size_t kBriefs = 4;  // others, which an actor has for a while, and gives up

const std::array<std::string, kNames>& names() {
  static const std::array<std::string, kNames> all = [] {
    std::array<std::string, kNames> made;
    for (std::size_t i = 0; i < kNames; ++i) {
      made[i] = std::string(i % 3 == 2 ? 100 : 3, 'n') + std::to_string(i);  // not all are copied
    }
    return made;
  }();
  return all;
}

std::string brief(std::size_t number) { return "brief " + std::to_string(number); }

/// What is known of the last actor in a slot, by the pid's index: its generation, and a number.
class BySlot {
 public:
  struct Known {
    std::uint32_t generation;
    std::uint32_t number;
  };
  void note(Pid pid, std::uint32_t number) {
    if (pid.index() < kMany) {
      (*all_)[pid.index()].store(std::uint64_t{pid.generation()} << 32 | number);
    }
  }
  [[nodiscard]] Known of(Pid pid) const {
    if (pid.index() >= kMany) return {0, 0};
    const std::uint64_t bits = (*all_)[pid.index()].load();
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }

 private:
  static constexpr std::size_t kMany = std::size_t{1} << 18;
  using All = std::array<std::atomic<std::uint64_t>, kMany>;
  std::unique_ptr<All> all_ = std::make_unique<All>();
};

struct World {
  /// Somebody who is or was alive, if any.
  [[nodiscard]] Pid any(Random& random) const {
    const std::uint64_t bits = known[random.below(kKnown)].load();
    return Pid(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
  }
  void make_known(Pid pid, Random& random) {
    known[random.below(kKnown)] = std::uint64_t{pid.generation()} << 32 | pid.index();
  }

  // Time goes on with each death and each look-up.
  void note_death(Pid pid) { deaths.note(pid, clock.fetch_add(1)); }

  /// Looks a name up, by `look_up(name)`, and judges what that gives.
  template <class LookUp>
  void judge(std::size_t name, LookUp look_up) {
    const std::uint32_t began = clock.fetch_add(1);
    const Pid found = look_up(names()[name]);
    ++looked;
    if (!found) return;
    ++hits;
    const BySlot::Known death = deaths.of(found);
    if (death.generation >= found.generation() && death.number < began) ++dead_found;
    const BySlot::Known wish = wishes.of(found);
    if (wish.generation == found.generation() && wish.number != name) ++wrong_found;
  }

  /// The same for a name that is had for a while.
  template <class LookUp>
  void judge_brief(std::size_t number, LookUp look_up) {
    const std::uint32_t began = clock.fetch_add(1);
    const Pid found = look_up(brief(number));
    if (!found) return;
    ++briefs_found;
    const BySlot::Known end = given_up.of(found);
    if (end.generation == found.generation() && end.number < began) ++dead_found;
  }

  static constexpr std::size_t kKnown = 64;
  std::array<std::atomic<std::uint64_t>, kKnown> known{};
  std::atomic<std::uint32_t> clock{1};
  BySlot deaths;
  BySlot wishes;    // the name that an actor wants
  BySlot given_up;  // when it has given up the one that it had for a while
  std::array<std::atomic<bool>, kBriefs> briefs{};  // is it somebody's turn?
  std::atomic<std::size_t> alive{0};
  std::atomic<std::uint64_t> looked{0}, hits{0}, briefs_found{0}, given{0}, taken_away{0};
  std::atomic<std::uint64_t> dead_found{0}, wrong_found{0}, lost{0}, wrongly_refused{0};
  std::atomic<bool> over{false};
  std::size_t cores = 1;
};

struct Act {
  int times;
};
struct Poke {};

class Member {
 public:
  Member(World* world, std::uint64_t seed)
      : world_(world), random_(seed), name_(random_.below(kNames)) {
    ++world_->alive;
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    if (brief_ < kBriefs) world_->briefs[brief_] = false;
    --world_->alive;
  }

  void started() {
    world_->wishes.note(this_actor::pid(), static_cast<std::uint32_t>(name_));
    world_->make_known(this_actor::pid(), random_);
  }

  void receive(Act act) {
    for (int i = 0; i < act.times && !world_->over; ++i) do_something();
    if (world_->over) return;
    if (random_.one_in(40)) return this_actor::stop();
    if (random_.one_in(80)) throw std::runtime_error("it failed");
    if (random_.one_in(4)) this_actor::sleep_for(std::chrono::microseconds(random_.below(200)));
    this_actor::address(this).send(Act{5});
  }
  void receive(Poke /*message*/) { look_at_oneself(); }

 private:
  void do_something() {
    const auto name = random_.below(kNames);
    switch (random_.below(12)) {
      case 10:
        have_a_name_for_a_while();
        break;
      case 11:
        world_->judge_brief(random_.below(kBriefs),
                            [](const auto& text) { return bulkhead::whereis(text); });
        break;
      case 0:
      case 1:
        ask_for_a_name();
        break;
      case 2:
        if (name >= kKept && bulkhead::unregister_name(names()[name])) ++world_->taken_away;
        break;
      case 3:
        NamedAddress<Member>(names()[name]).send(Poke{});
        break;
      case 4:
        if (random_.one_in(10)) static_cast<void>(bulkhead::kill(world_->any(random_)));
        break;
      case 5:
        if (world_->alive < kMost) make_another();
        break;
      case 6:
        give_to_another(world_->any(random_));
        break;
      default:
        for (int i = 0; i < 5; ++i) {
          world_->judge(name, [](const std::string& text) { return bulkhead::whereis(text); });
        }
        break;
    }
    look_at_oneself();
  }

  void ask_for_a_name() {
    if (brief_ < kBriefs) return;
    const auto given = bulkhead::register_name(names()[name_], this_actor::pid());
    if (given) {
      ++world_->given;
      if (has_kept_name_) ++world_->wrongly_refused;
      has_kept_name_ = name_ < kKept;
    } else if (given.error() == RegisterError::kNoActor ||
               (has_kept_name_ && given.error() != RegisterError::kNamed) ||
               (given.error() == RegisterError::kNamed && name_ < kKept &&
                bulkhead::name_of(this_actor::pid()) != names()[name_])) {
      ++world_->wrongly_refused;
    }
  }

  // Once in its life.
  void have_a_name_for_a_while() {
    const Pid self = this_actor::pid();
    if (brief_ < kBriefs) {
      if (!bulkhead::unregister_name(brief(brief_))) ++world_->lost;
      world_->given_up.note(self, world_->clock.fetch_add(1));
      world_->briefs[std::exchange(brief_, kBriefs)] = false;
      return;
    }
    const std::size_t number = random_.below(kBriefs);
    if (had_brief_ || world_->briefs[number].exchange(true)) return;
    if (bulkhead::register_name(brief(number), self)) {
      had_brief_ = true;
      brief_ = number;
    } else {
      world_->briefs[number] = false;
    }
  }

  // Only names that are not kept: who has one of those knows it.
  void give_to_another(Pid other) {
    const BySlot::Known wish = world_->wishes.of(other);
    if (wish.generation != other.generation() || wish.number < kKept) return;
    if (bulkhead::register_name(names()[wish.number], other)) ++world_->given;
  }

  void look_at_oneself() {
    if (!has_kept_name_) return;
    if (bulkhead::whereis(names()[name_]) != this_actor::pid() ||
        bulkhead::name_of(this_actor::pid()) != names()[name_]) {
      ++world_->lost;
    }
  }

  void make_another() {
    bulkhead::SpawnOptions options;
    if (random_.one_in(2)) options.core = random_.below(static_cast<std::uint32_t>(world_->cores));
    bulkhead::spawn_with<Member>(options, world_, random_.seed()).send(Act{5});
  }

  World* world_;
  Random random_;
  std::size_t name_;
  bool has_kept_name_ = false;
  std::size_t brief_ = kBriefs;  // none
  bool had_brief_ = false;
};

class NameStorm : public support::OnCores {
 protected:
  Config with_death(World& world) {
    Config config = OnCores::config();
    config.on_death = [&world](const bulkhead::Death& death) { world.note_death(death.actor); };
    return config;
  }

  static void from_outside(Runtime& runtime, World& world, std::uint64_t seed) {
    Random random(seed);
    while (!world.over) {
      const auto name = random.below(kNames);
      for (int i = 0; i < 20; ++i) {
        world.judge(name, [&](const std::string& text) { return runtime.whereis(text); });
      }
      world.judge_brief(random.below(kBriefs),
                        [&](const std::string& text) { return runtime.whereis(text); });
      if (name >= kKept && random.one_in(4) && runtime.unregister_name(names()[name])) {
        ++world.taken_away;
      }
      const Pid other = world.any(random);
      const BySlot::Known wish = world.wishes.of(other);
      if (wish.generation == other.generation() && wish.number >= kKept &&
          runtime.register_name(names()[wish.number], other)) {
        ++world.given;
      }
      if (random.one_in(3)) static_cast<void>(bulkhead::kill(world.any(random)));
      if (world.alive < kMost / 2) {
        runtime.spawn<Member>(&world, random.seed()).send(Act{5});
      }
      std::this_thread::sleep_for(100us);
    }
  }

  static void round(Runtime& runtime, World& world, Random& random) {
    world.over = false;
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      runtime.spawn_with<Member>(on_core(i), &world, random.seed()).send(Act{5});
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, seed = random.seed()] { from_outside(runtime, world, seed); });
    }
    std::this_thread::sleep_for(100ms);
    world.over = true;
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(runtime.wait_for_idle(support::kDeadline));
  }

  // Of what is there when all is calm.
  static void expect_laws(const Runtime& runtime, const World& world) {
    EXPECT_EQ(world.dead_found, 0u);
    EXPECT_EQ(world.wrong_found, 0u);
    EXPECT_EQ(world.lost, 0u);
    EXPECT_EQ(world.wrongly_refused, 0u);
    std::unordered_set<Pid> holders;
    for (const std::string& name : runtime.registered()) {
      const Pid holder = runtime.whereis(name);
      EXPECT_TRUE(holder) << name;
      EXPECT_TRUE(holders.insert(holder).second) << name << ": its holder has two names";
      EXPECT_EQ(runtime.name_of(holder), name);
    }
  }
};
ON_ONE_AND_SEVERAL_CORES(NameStorm);

TEST_P(NameStorm, finds_nobody_who_is_dead_and_no_two_of_one_name) {
  Random random(support::seed_of_test());
  World world;
  world.cores = cores();
  Runtime runtime(with_death(world));
  runtime.start();
  const auto end = support::Clock::now() + support::stress_time();
  while (support::Clock::now() < end && !HasFailure()) {
    round(runtime, world, random);
    expect_laws(runtime, world);
  }
  EXPECT_GT(world.hits, 0u);
  EXPECT_GT(world.briefs_found, 0u);
  EXPECT_GT(world.given, 0u);
  EXPECT_GT(world.taken_away, 0u);
  runtime.shutdown(0ms);
  EXPECT_TRUE(runtime.registered().empty());
}

}  // namespace
