/// A world of actors that do at random all that actors can do, and the laws that hold all the same:
///   conservation  every message that was sent is handled to its end, or told as a dead letter
///   order         a receiver sees the messages of each sender in the order sent, none missing
///   identity      a message reaches the actor that it was sent to, and no other
///   memory        no message, answer or actor is left when all is over
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "support/live.hpp"
#include "support/seed.hpp"

namespace stress {

/// A message that is numbered by its sender for its receiver.
struct Parcel {
  bulkhead::Pid from;
  bulkhead::Pid to;
  std::uint32_t number;
  std::uint32_t fuel;  ///< how many generations of messages it may lead to
  support::Live live;
};

/// The same, to be asked with.
struct Query {
  using Answer = int;
  bulkhead::Pid from;
  bulkhead::Pid to;
  std::uint32_t number;
  std::uint32_t fuel;
  support::Live live;
};

/// The same, for senders that wait for room. What does not get in stays with its sender.
struct Crate {
  bulkhead::Pid from;
  bulkhead::Pid to;
  std::uint32_t number;
  std::uint32_t fuel;
  support::Live live;
};

/// An answer that somebody else is to give.
struct Errand {
  bulkhead::Reply<int> reply;
  int answer;
};

class Actor;

/// What is counted, by everybody.
struct Laws {
  std::atomic<std::uint64_t> sent{0};       ///< sends of parcels, also refused ones
  std::atomic<std::uint64_t> asked{0};      ///< asks, also refused ones
  std::atomic<std::uint64_t> completed{0};  ///< parcels and queries whose handler came to its end
  std::atomic<std::uint64_t> letters{0};    ///< dead letters of parcels and queries
  std::atomic<std::uint64_t> let_in{0};     ///< crates that got in, as their senders were told
  std::atomic<std::uint64_t> untold{0};     ///< crates whose sender was ended while it waited
  std::atomic<std::uint64_t> emptied{0};    ///< crates whose handler came to its end
  std::atomic<std::uint64_t> lost{0};       ///< dead letters of crates
  std::atomic<std::uint64_t> misordered{0};
  std::atomic<std::uint64_t> misdelivered{0};
  std::atomic<std::uint64_t> wrong_answers{0};
  std::atomic<std::int64_t> alive{0};  ///< actors
};

/// What all actors and threads of a program share.
class World {
 public:
  explicit World(std::size_t cores) : cores_(cores) {}

  /// The dead-letter hook.
  void told(const bulkhead::DeadLetter& letter);

  /// Somebody who is or was alive, if any.
  [[nodiscard]] bulkhead::Address<Actor> anybody(support::Random& random) const;
  void make_known(bulkhead::Address<Actor> actor, support::Random& random);
  void forget_all();

  /// What must hold when nothing is under way.
  void expect_laws(const bulkhead::Stats& stats) const;
  /// What must hold after a shutdown.
  void expect_nothing_left(const bulkhead::Stats& stats) const;

  [[nodiscard]] std::size_t cores() const { return cores_; }
  [[nodiscard]] bulkhead::SpawnOptions any_options(support::Random& random) const;

  Laws laws;
  std::atomic<bool> over{false};

 private:
  static constexpr std::size_t kKnown = 64;

  std::size_t cores_;
  std::array<std::atomic<std::uint64_t>, kKnown> known_{};
};

/// One end of the numbered traffic: an actor, or a thread outside.
class Sender {
 public:
  Sender(World& world, bulkhead::Pid self, std::uint64_t seed)
      : world_(world), self_(self), random_(seed) {}

  void send_parcel(std::uint32_t fuel);
  void send_or_wait(std::uint32_t fuel);
  void ask(std::uint32_t fuel);
  void set_self(bulkhead::Pid self) { self_ = self; }

  [[nodiscard]] support::Random& random() { return random_; }
  [[nodiscard]] World& world() { return world_; }

 private:
  template <class M>
  [[nodiscard]] M numbered(bulkhead::Address<Actor> to, std::uint32_t fuel) {
    return M{self_, to.pid(), next_number_[to.pid()]++, fuel, support::Live(1)};
  }
  void was_refused(bulkhead::Address<Actor> to);

  World& world_;
  bulkhead::Pid self_;
  support::Random random_;
  std::unordered_map<bulkhead::Pid, std::uint32_t> next_number_;
};

class Actor {
 public:
  Actor(World* world, std::uint64_t seed);
  ~Actor();

  void started();
  [[nodiscard]] bulkhead::Timeout receive_timeout();
  void receive(bulkhead::ReceiveTimeout timeout);
  void receive(Parcel parcel);
  void receive(Query query, bulkhead::Reply<int> reply);
  void receive(Crate crate);
  void receive(Errand errand);

 private:
  void check(bulkhead::Pid from, bulkhead::Pid to, std::uint32_t number);
  void act(std::uint32_t fuel);
  void act_on_timers(std::uint32_t fuel);
  void end_somehow();
  void be_slow();
  void answer(bulkhead::Reply<int> reply, int value);

  World& world_;
  Sender sender_;
  bulkhead::Pid self_;
  std::unordered_map<bulkhead::Pid, std::uint32_t> next_from_;
  std::vector<bulkhead::TimerRef> timers_;
  std::optional<bulkhead::Reply<int>> kept_;
  int kept_answer_ = 0;
  support::Live live_{1};
};

}  // namespace stress
