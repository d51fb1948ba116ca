// Bulkhead's work about green threads that are blocked.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bulkhead_lives.hpp"
#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

struct Pass {
  using Answer = std::uint64_t;
};
struct HowMany {};

/// Where green threads wait for one message each.
class Door {
 public:
  void receive(Pass, Reply<std::uint64_t> reply) { waiting_.push_back(std::move(reply)); }
  void receive(WakeUp) {
    for (auto& reply : waiting_) reply(1);
    waiting_.clear();
  }
  std::uint64_t receive(HowMany) { return waiting_.size(); }

 private:
  std::vector<Reply<std::uint64_t>> waiting_;
};

inline double page_table_bytes() {
  std::ifstream status("/proc/self/status");
  double kib = 0;
  for (std::string word; status >> word;) {
    if (word == "VmPTE:") status >> kib;
  }
  return kib * 1024;
}

/// From the first spawn until all are blocked in the middle of their function.
inline Result blocked_memory(const Request& request) {
  System system(request.cores, request.n);
  const auto door = system->spawn<Door>();
  system->wait_for_idle();
  const auto before = static_cast<double>(resident_bytes());
  const double tables_before = page_table_bytes();
  const auto began = Clock::now();
  system->spawn([n = request.n, door, observer = system.observer()] {
    for (std::uint64_t i = 0; i < n; ++i) {
      ::bulkhead::spawn([door, observer] {
        observer.send(Sum{door.ask(Pass{}, ::bulkhead::kForever).value_or(0)});
      });
      if (i % 64 == 63) this_actor::yield();
    }
  });
  while (door.ask(HowMany{}, ::bulkhead::kForever).value_or(0) != request.n) {
  }
  const auto elapsed = Clock::now() - began;
  const auto n = static_cast<double>(request.n);
  const double each = (static_cast<double>(resident_bytes()) - before) / n;
  const double tables = (page_table_bytes() - tables_before) / n;
  door.send(WakeUp{});
  require_equal(system.total(), request.n, "green threads that were alive");
  return Result(request.n, elapsed)
      .extra("bytes_per_actor", each)
      .extra("page_table_bytes_per_actor", tables);
}

}  // namespace bench
