// Three programs on a stage: isolated actors on the calling thread, with bounds on everything.
//
// A boss starts two workers. One answers; the other has a bug and traps. The boss gets the answer,
// and hears of both ends, each after all that the worker had sent.
//
// A lead asks a counting service for its count, crashes it, and asks again. The question that was
// queued behind the crash is lost with it, which the lead is told. The service is made anew in
// place, under the same address; its count starts again.
//
// A greedy one asks for more than its heap may hold.
// NOLINTNEXTLINE(readability-identifier-naming)
#define _GLIBCXX_ASSERTIONS 1  // a missing value that is taken all the same is a failed assertion

#include <bulkhead/bulkhead.hpp>
#include <bulkhead/stage.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using bulkhead::Exit;
using bulkhead::Stage;
namespace this_actor = bulkhead::this_actor;

namespace {

constexpr bulkhead::Isolation kSmall{.heap_limit = std::size_t{64} << 10};

// Crashes are told on stderr.
bulkhead::StageConfig config_for(std::size_t actors) {
  bulkhead::StageConfig config;
  config.actors = actors;
  config.mailbox = 4;
  return config;
}

// A bug: there is nothing to take out.
long take_what_is_missing() {
  const std::optional<long> missing;
  return *missing;  // NOLINT(bugprone-unchecked-optional-access): that is the bug
}

std::string what_became(const Exit& exit) {
  if (exit.is_normal()) return "stopped";
  return exit.kind() == Exit::Kind::kTrapped ? "trapped " + std::string(to_string(exit.trap()))
                                             : to_string(exit);
}

// --- a boss and its workers ---

struct Square {
  long number;
};
struct Answer {
  long square;
};

class Worker {
 public:
  explicit Worker(bulkhead::Port<Answer> boss) : boss_(boss) {}

  void receive(Square job) {
    if (job.number < 0) take_what_is_missing();
    boss_.send(Answer{job.number * job.number});
    this_actor::stop();
  }

 private:
  bulkhead::Port<Answer> boss_;
};

class Boss {
 public:
  void started() {
    for (const long number : {7L, -1L}) {
      bulkhead::MonitorRef monitor;
      const auto worker = bulkhead::spawn_with<Worker>({.monitor = &monitor, .isolated = kSmall},
                                                       this_actor::address(this).port<Answer>());
      worker.send(Square{number});
    }
  }

  void receive(Answer answer) { std::cout << "answer " << answer.square << '\n'; }

  void receive(const bulkhead::Down& down) {
    std::cout << "worker " << what_became(down.exit) << '\n';
    if (++ended_ == 2) this_actor::stop();
  }

 private:
  int ended_ = 0;
};

void run_boss() {
  Stage stage(config_for(3));
  stage.spawn_with<Boss>({.isolated = kSmall});
  stage.run(5s);
  const bulkhead::Stats stats = stage.stats();
  std::cout << stats.actors_started << ' ' << stats.actors_ended - stats.actors_trapped << ' '
            << stats.actors_trapped << ' ' << bulkhead::heaps_live() << ' '
            << bulkhead::heap_bytes_used() << '\n';
}

// --- a lead and a counting service ---

struct Count {};
struct Crash {};

class Service {
 public:
  long receive(Count /*question*/) { return ++count_; }
  void receive(Crash /*message*/) { count_ = take_what_is_missing(); }

 private:
  long count_ = 0;
};

class Lead {
 public:
  void started() {
    bulkhead::MonitorRef monitor;
    const auto service = bulkhead::spawn_with<Service>(
        {.monitor = &monitor,
         .isolated = kSmall,
         .restart = bulkhead::RestartInPlace{.limit = 3, .window = 60s}});
    ask(service);
    service.send(Crash());
    ask(service);  // its place in the mailbox is behind the crash
    ask(service);
    this_actor::sleep_for(10ms);
    stop(service);
  }

  void receive(const bulkhead::Down& down) {
    std::cout << "service " << what_became(down.exit) << '\n';
    this_actor::stop();
  }

 private:
  static void ask(bulkhead::Address<Service> service) {
    const auto count = service.ask(Count(), 1s);
    if (count) {
      std::cout << "count " << *count << '\n';
    } else if (count.error() == bulkhead::AskError::kDied) {
      std::cout << "gone\n";
    }
  }
};

void run_lead() {
  Stage stage(config_for(2));
  stage.spawn_with<Lead>({.isolated = kSmall});
  stage.run(5s);
  const bulkhead::Stats stats = stage.stats();
  std::cout << stats.actors_trapped << ' ' << stats.actors_restarted << '\n';
}

// --- a greedy one ---

class Greedy {
 public:
  explicit Greedy(std::size_t size) : size_(size) {}

  void started() {
    // 8 bytes for each of a million values do not fit in 64 KiB: std::bad_alloc.
    const std::vector<long> values(size_);
    std::cout << "unreachable " << values.size() << '\n';
  }
  void receive(int /*message*/) {}

 private:
  std::size_t size_;
};

void run_greedy() {
  Stage stage(config_for(1));
  stage.spawn_with<Greedy>({.isolated = kSmall}, std::size_t{1'000'000});
  stage.run(5s);
  std::cout << stage.stats().actors_trapped << ' ' << bulkhead::heaps_live() << ' '
            << bulkhead::heap_bytes_used() << '\n';
}

}  // namespace

int main() {
  run_boss();
  run_lead();
  run_greedy();
}
