// Failure, and what others make of it, twice.
//
// A boss spawns two workers and monitors them. One answers; the other has a bug, and fails. The
// boss gets the answer, and is told how each has ended.
//
// A lead asks a counting server for its count, crashes it, and asks again. What waited in the
// server's mailbox is lost with it, and who waits for an answer learns so at once. Its supervisor
// starts it again under the same name, where the next call finds it; its count starts again.
#include <bulkhead/otp.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

// A bug: there is nothing to take out, so this throws std::bad_optional_access.
long take_what_is_missing() {
  const std::optional<long> missing;
  return missing.value();  // NOLINT(bugprone-unchecked-optional-access): that is the bug
}

void print_end(const char* who, const bulkhead::Exit& exit) {
  if (exit.is_normal()) {
    std::printf("%s stopped\n", who);
  } else {
    std::printf("%s failed: %s\n", who, to_string(exit).c_str());
  }
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
    bulkhead::this_actor::stop();
  }

 private:
  bulkhead::Port<Answer> boss_;
};

class Boss {
 public:
  void started() {
    for (const long number : {7L, -1L}) {
      bulkhead::MonitorRef monitor;  // from the first moment on, however soon the worker ends
      const auto worker =
          bulkhead::spawn_with<Worker>({.monitor = &monitor}, bulkhead::this_actor::address(this));
      worker.send(Square{number});
      workers_.push_back({monitor});
    }
  }

  void receive(Answer answer) { std::printf("answer %ld\n", answer.square); }

  // One for each worker, behind all that it has sent. Which worker ends first is open: they may run
  // on two cores. So what became of them is told when both have ended.
  void receive(const bulkhead::Down& down) {
    Hired& gone = *std::ranges::find(workers_, down.monitor, &Hired::monitor);
    gone.ended = true;
    gone.exit = down.exit;
    if (!std::ranges::all_of(workers_, &Hired::ended)) return;
    for (const Hired& worker : workers_) print_end("worker", worker.exit);
    bulkhead::this_actor::stop();
  }

 private:
  struct Hired {
    bulkhead::MonitorRef monitor;
    bool ended = false;
    bulkhead::Exit exit = {};
  };
  std::vector<Hired> workers_;
};

void run_boss() {
  bulkhead::Runtime runtime;
  runtime.start();
  runtime.spawn<Boss>();
  runtime.wait_for_end();
  const bulkhead::Stats stats = runtime.stats();
  std::printf("%llu started, %llu stopped, %llu failed, %llu left\n",
              static_cast<unsigned long long>(stats.actors_started),
              static_cast<unsigned long long>(stats.actors_ended - stats.actors_failed),
              static_cast<unsigned long long>(stats.actors_failed),
              static_cast<unsigned long long>(stats.actors()));
}

// --- a lead and a counting server ---

struct Count {};
struct Crash {};

class Counter : public bulkhead::GenServer {
 public:
  long handle_call(Count) { return ++count_; }
  void handle_cast(Crash) { count_ = take_what_is_missing(); }

 private:
  long count_ = 0;
};

// Whoever has the name now: another one after each restart.
bulkhead::ServerRef<Counter> counter() {
  return bulkhead::ServerRef<Counter>(bulkhead::whereis("counter"));
}

// `starts` counts how often the supervisor has started the counter.
bulkhead::SupervisorSpec supervise_counter(int& starts) {
  auto child = bulkhead::child_server<Counter>("counter");
  child.name = "counter";
  child.restart = bulkhead::Restart::kTransient;  // not when it was told to stop, and did
  child.start = [&starts, start = std::move(child.start)] {
    ++starts;
    return start();
  };
  return {.intensity = 3, .period = 60s, .children = {std::move(child)}};
}

// A green thread, which just waits where there is something to wait for.
void lead(bulkhead::Mailbox<bulkhead::Down>& mailbox, int& starts) {
  const auto supervisor = bulkhead::start_supervisor(supervise_counter(starts)).value();
  std::printf("count %ld\n", counter().call(Count{}, 1s).value());

  const auto doomed = counter();
  doomed.cast(Crash{});
  if (!doomed.call(Count{}, 1s)) std::puts("gone");

  // In a moment there is another one. Until then nobody has the name, and the call fails at once.
  auto count = counter().call(Count{}, 1s);
  while (!count) {
    bulkhead::this_actor::sleep_for(1ms);
    count = counter().call(Count{}, 1s);
  }
  std::printf("count %ld\n", *count);

  bulkhead::this_actor::sleep_for(10ms);
  bulkhead::this_actor::monitor(counter().pid());
  static_cast<void>(counter().stop());
  print_end("counter", mailbox.next<bulkhead::Down>().exit);
  supervisor.stop();
}

void run_lead() {
  int starts = 0;
  bulkhead::Runtime runtime;
  runtime.start();
  using Box = bulkhead::Mailbox<bulkhead::Down>;
  runtime.spawn<Box>([&starts](Box& mailbox) { lead(mailbox, starts); });
  runtime.wait_for_end();
  std::printf("%llu failed, %d restarted\n",
              static_cast<unsigned long long>(runtime.stats().actors_failed), starts - 1);
}

}  // namespace

int main() {
  run_boss();
  run_lead();
}
