/// A tree of supervisors with ten thousand leaves that fail in all ways, and what there is to know
/// of it that its supervisors have not said.
#pragma once

#include <bulkhead/otp.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "support/seed.hpp"

namespace stress::tree {

inline constexpr std::size_t kBranches = 10;
inline constexpr std::size_t kTwigs = 10;    ///< of a branch
inline constexpr std::size_t kLeaves = 100;  ///< of a twig

/// What became of a leaf under one incarnation of its supervisor.
struct Record {
  enum class Life : std::uint8_t { kAlive, kEndedInOrder, kEnded };
  std::atomic<Life> life{Life::kEnded};
  std::atomic<std::uint32_t> starts{0};
  std::atomic<std::uint64_t> pid{0};
};
using Records = std::array<Record, kLeaves>;

[[nodiscard]] bulkhead::Pid pid_of(const std::atomic<std::uint64_t>& word);

/// A supervisor of leaves. What is known of them stands by the pid of the supervisor: one that has
/// been killed goes on for a while, beside the next.
class Twig {
 public:
  [[nodiscard]] Records& records(bulkhead::Pid supervisor);
  /// Forgets all but those.
  [[nodiscard]] const Records& only_records(bulkhead::Pid supervisor);

  std::atomic<std::uint64_t> pid{0};
  std::array<std::atomic<std::uint64_t>, kLeaves> leaves{};  ///< who was started last
 private:
  std::mutex lock_;
  std::map<bulkhead::Pid, std::unique_ptr<Records>> by_supervisor_;
};

struct Branch {
  std::atomic<std::uint64_t> pid{0};
  std::array<Twig, kTwigs> twigs;
};

/// How many restarts within a period a supervisor puts up with.
struct Patience {
  unsigned of_branches;
  unsigned of_twigs;
  std::chrono::nanoseconds period;
};

struct Tree {
  Tree(std::size_t number_of_cores, std::uint64_t seed) : cores(number_of_cores), seeds(seed) {}

  [[nodiscard]] bulkhead::SupervisorSpec spec(Patience patience);
  [[nodiscard]] Twig& twig(std::size_t number) {
    return branches[number / kTwigs].twigs[number % kTwigs];
  }
  void has_died(const bulkhead::Death& death);
  [[nodiscard]] bool has_given_up(bulkhead::Pid supervisor);
  [[nodiscard]] std::size_t given_up();

  std::size_t cores;
  std::atomic<std::uint64_t> seeds;
  std::atomic<bool> stormy{false};    ///< may a start fail?
  std::atomic<std::size_t> alive{0};  ///< leaves
  std::array<Branch, kBranches> branches;

 private:
  std::mutex lock_;
  std::unordered_set<bulkhead::Pid> given_up_;
};

struct Fail {};
struct End {};
struct EndInOrder {};
struct Who {};

class Leaf {
 public:
  enum class Temper : std::uint8_t {
    kPlain,     ///< ends by exits
    kTraps,     ///< hears of them, and then ends
    kStubborn,  ///< does not when its supervisor asks it to; only when that has been killed
  };

  Leaf(Tree* tree, Record* record, std::size_t number, Temper temper, bool fails);
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;
  ~Leaf();

  void started();
  void receive(Fail message);
  void receive(End message);
  void receive(EndInOrder message);
  std::size_t receive(Who /*message*/) { return number_; }
  void receive(const bulkhead::Exited& exited);

 private:
  Tree* tree_;
  Record* record_;
  std::size_t number_;
  Temper temper_;
  bool fails_;
};

[[nodiscard]] bulkhead::Restart restart_of(std::size_t leaf);

}  // namespace stress::tree
