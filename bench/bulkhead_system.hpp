// What Bulkhead's benchmark programs share: a runtime that runs, and an actor through which the
// main thread learns that the work is done.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <cstdint>
#include <optional>
#include <utility>

#include "program.hpp"

namespace bench {

namespace this_actor = ::bulkhead::this_actor;
using ::bulkhead::Address;
using ::bulkhead::Port;
using ::bulkhead::Reply;
using ::bulkhead::SpawnOptions;

struct Number {
  std::uint64_t value = 0;
};

struct Sum {
  std::uint64_t value = 0;
};

/// Asks an Observer; answered when it has heard all.
struct WhenComplete {
  using Answer = std::uint64_t;
};

/// Adds up as many sums as it was made for, and then answers with the total.
class Observer {
 public:
  explicit Observer(std::uint64_t sums) : missing_(sums) {}

  void receive(Sum sum) {
    total_ += sum.value;
    --missing_;
    answer_if_complete();
  }
  void receive(WhenComplete, Reply<std::uint64_t> reply) {
    reply_ = std::move(reply);
    answer_if_complete();
  }

 private:
  void answer_if_complete() {
    if (missing_ == 0 && reply_) (*reply_)(total_);
  }

  std::uint64_t missing_;
  std::uint64_t total_ = 0;
  std::optional<Reply<std::uint64_t>> reply_;
};

/// A running runtime and its observer.
class System {
 public:
  explicit System(unsigned cores, std::uint64_t sums = 1, ::bulkhead::Config config = {})
      : runtime_(with_cores(std::move(config), cores)) {
    runtime_.start();
    observer_ = runtime_.spawn<Observer>(sums);
  }

  ::bulkhead::Runtime* operator->() { return &runtime_; }
  ::bulkhead::Runtime& operator*() { return runtime_; }
  [[nodiscard]] Port<Sum> observer() const { return observer_; }

  /// Waits until the observer has heard all, and returns the total.
  [[nodiscard]] std::uint64_t total() {
    const auto answer = observer_.ask(WhenComplete{}, ::bulkhead::kForever);
    require(answer.has_value(), "the observer lives");
    return *answer;
  }

 private:
  static ::bulkhead::Config with_cores(::bulkhead::Config config, unsigned cores) {
    config.cores = cores;
    return config;
  }

  ::bulkhead::Runtime runtime_;
  Address<Observer> observer_;
};

/// Where the actor `index` of several starts: they are spread over the cores.
inline SpawnOptions on_core(unsigned cores, std::uint64_t index) {
  return SpawnOptions{.core = index % cores};
}

inline SpawnOptions pinned_to(std::size_t core) {
  return SpawnOptions{.core = core, .pinned = true};
}

}  // namespace bench
