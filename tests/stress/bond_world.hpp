/// A world of actors that link, watch, name, supervise and end each other at random, and what all
/// of them count.
#pragma once

#include <bulkhead/otp.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/seed.hpp"

namespace stress::bonds {

inline constexpr std::size_t kMost = 300;         ///< alive at a time, about, and without children
inline constexpr std::size_t kMostChildren = 20;  ///< of the supervisor of many, about

/// Each is the name and the id of a supervisor, of that strategy.
inline constexpr std::array<const char*, 4> kSupervisors{"one_for_one", "one_for_all",
                                                         "rest_for_one", "simple"};
inline constexpr const char* kSimple = kSupervisors[3];

/// What an actor has to say of itself when all is calm.
struct Report {
  bulkhead::Pid pid;
  bulkhead::Pid supervisor;  ///< none: it is nobody's child
  std::vector<bulkhead::Pid> links;
  std::vector<bulkhead::Pid> watched;  ///< by monitors that have not told
};

class World {
 public:
  World(std::size_t number_of_cores, std::uint64_t seed) : cores(number_of_cores), seeds_(seed) {}

  /// Somebody who is or was alive, if any.
  [[nodiscard]] bulkhead::Pid any(support::Random& random) const;
  void make_known(bulkhead::Pid pid, support::Random& random);
  void has_died(const bulkhead::Death& death);
  [[nodiscard]] std::unordered_set<bulkhead::Pid> living();
  [[nodiscard]] std::uint64_t seed() { return seeds_++; }
  [[nodiscard]] static std::string any_name(support::Random& random);

  std::size_t cores;
  std::atomic<bool> supervises{false};
  std::atomic<bool> over{false};
  std::atomic<std::size_t> alive{0};     ///< those that are nobody's children
  std::atomic<std::size_t> children{0};  ///< the others
  std::atomic<std::uint64_t> wrong{0};   ///< told twice, or of nothing; no longer found by its name
  std::atomic<std::uint64_t> named{0}, unnamed{0}, found_by_name{0}, children_started{0};

  std::mutex lock;
  std::vector<Report> reports;
  std::set<std::string> unknown_reasons;

 private:
  static constexpr std::size_t kKnown = 64;
  std::array<std::atomic<std::uint64_t>, kKnown> known_{};
  std::unordered_set<bulkhead::Pid> living_;
  std::atomic<std::uint64_t> seeds_;
};

/// How a member meets exits.
enum class Temper : std::uint8_t {
  kPlain,     ///< ends by them
  kTraps,     ///< hears of them, and ends when its supervisor wants it to
  kStubborn,  ///< only when that has been killed
};
[[nodiscard]] Temper any_temper(support::Random& random);

struct Act {
  int times;
};
struct Poke {};
struct Tell {};

class Member {
 public:
  Member(World* world, std::uint64_t seed, Temper temper, bulkhead::Pid supervisor = {},
         std::string name = {});
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() { --(supervisor_ ? world_->children : world_->alive); }

  void started();
  void receive(Act act);
  void receive(Poke message);
  void receive(Tell message);
  void receive(const bulkhead::Down& down);
  void receive(const bulkhead::Exited& exited);

 private:
  void do_something();
  void watch(bulkhead::Pid other);
  void end_a_watch();
  void make_another();
  void give_or_take_a_name(bulkhead::Pid other);
  void meet_a_supervisor();
  void call_a_supervisor();

  World* world_;
  support::Random random_;
  Temper temper_;
  bulkhead::Pid supervisor_;
  std::string name_;                                // that its supervisor gives it
  std::map<std::uint64_t, bulkhead::Pid> watched_;  // by monitor
};

/// The specifications of a supervisor's children, in order; none of kSimple.
[[nodiscard]] std::vector<bulkhead::ChildSpec> children_of(World& world,
                                                           const std::string& supervisor);
/// The name of one of those.
[[nodiscard]] std::string name_of_child(const std::string& supervisor, const std::string& id);
/// Makes one more of kSimple's.
[[nodiscard]] std::function<bulkhead::ChildStart()> another_child(World& world);
/// A supervisor of each kind; none ever gives up.
[[nodiscard]] bulkhead::SupervisorSpec tree(World& world);

}  // namespace stress::bonds
