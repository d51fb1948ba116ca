// Bulkhead's work that compares its kinds of run queue: actors that are at home nowhere in
// particular, in pairs that talk.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <cstdint>

#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

constexpr std::uint64_t kPairs = 64;

/// Sends a ball back until `last` has come, and then tells the observer how many it has had.
class Partner {
 public:
  struct Ball {
    std::uint64_t number = 0;
    Address<Partner> from;
  };

  Partner(Port<Sum> observer, std::uint64_t last) : observer_(observer), last_(last) {}

  void receive(Ball ball) {
    ++had_;
    if (ball.number < last_) {
      ball.from.send(Ball{ball.number + 1, this_actor::address<Partner>()});
    }
    if (ball.number + 1 >= last_) observer_.send(Sum{had_});
  }

 private:
  Port<Sum> observer_;
  std::uint64_t last_;
  std::uint64_t had_ = 0;
};

inline Result pairs(const Request& request, ::bulkhead::RunQueue kind) {
  ::bulkhead::Config config;
  config.run_queue = kind;
  System system(request.cores, 2 * kPairs, std::move(config));
  const std::uint64_t each = request.n / kPairs + 2;
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const auto one = system->spawn<Partner>(system.observer(), each);
    const auto other = system->spawn<Partner>(system.observer(), each);
    one.send(Partner::Ball{1, other});
  }
  const std::uint64_t balls = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(balls, each * kPairs, "balls");
  return Result(balls, elapsed);
}

inline Result pairs_partitioned(const Request& request) {
  return pairs(request, ::bulkhead::RunQueue::kPartitioned);
}
inline Result pairs_mutex(const Request& request) {
  return pairs(request, ::bulkhead::RunQueue::kMutex);
}
inline Result pairs_ring(const Request& request) {
  return pairs(request, ::bulkhead::RunQueue::kRing);
}
inline Result pairs_striped(const Request& request) {
  return pairs(request, ::bulkhead::RunQueue::kStriped);
}

}  // namespace bench
