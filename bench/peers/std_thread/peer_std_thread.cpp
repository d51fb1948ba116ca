// The peer "std::thread": an actor is a thread of the system, its mailbox a deque under a mutex
// with a condition variable. What a program would be without any runtime. Left out: see
// ../../README.md.

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "mailbox.hpp"
#include "program.hpp"

namespace {

using bench::Clock;
using bench::Request;
using bench::require;
using bench::require_equal;
using bench::Result;
using std_thread::BoundedMailbox;
using std_thread::Mailbox;
using std_thread::StartSignal;

constexpr std::uint64_t kProducers = 8;

void use(unsigned cores) {
  if (cores == 1) bench::stay_on_one_cpu();
}

void join_all(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

Result counting(const Request& request) {
  use(request.cores);
  Mailbox<std::uint64_t> mailbox;
  StartSignal start;
  std::uint64_t sum = 0;
  std::thread receiver([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) sum += mailbox.receive();
  });
  Clock::time_point began;
  std::thread producer([&] {
    start.wait();
    began = Clock::now();
    for (std::uint64_t i = 0; i < request.n; ++i) mailbox.send(i);
  });
  start.give();
  producer.join();
  receiver.join();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

Result ping_pong(const Request& request) {
  use(request.cores);
  const auto began = Clock::now();
  Mailbox<std::uint64_t> to_ping;
  Mailbox<std::uint64_t> to_pong;
  std::thread pong([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) {
      const std::uint64_t got = to_pong.receive();
      require_equal(got, i, "ping");
      to_ping.send(got + 1);
    }
  });
  std::thread ping([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) {
      to_pong.send(i);
      require_equal(to_ping.receive(), i + 1, "pong");
    }
  });
  ping.join();
  pong.join();
  return Result(2 * request.n, Clock::now() - began);
}

Result thread_ring(const Request& request) {
  use(request.cores);
  constexpr std::uint64_t kActors = 100;
  constexpr std::uint64_t kStop = ~std::uint64_t{0};
  std::vector<Mailbox<std::uint64_t>> ring(kActors);
  Mailbox<std::uint64_t> finished;
  std::vector<std::thread> threads;
  for (std::uint64_t self = 0; self < kActors; ++self) {
    threads.emplace_back([&, self] {
      for (;;) {
        const std::uint64_t hops_left = ring[self].receive();
        if (hops_left == kStop) return;
        if (hops_left == 0) {
          finished.send(self);
        } else {
          ring[(self + 1) % kActors].send(hops_left - 1);
        }
      }
    });
  }
  const auto began = Clock::now();
  ring[0].send(request.n);
  const std::uint64_t last = finished.receive();
  const auto elapsed = Clock::now() - began;
  for (auto& mailbox : ring) mailbox.send(kStop);
  join_all(threads);
  require_equal(last, request.n % kActors, "actor that got the last hop");
  return Result(request.n, elapsed);
}

Result fork_join(const Request& request) {
  use(request.cores);
  constexpr std::uint64_t kWorkers = 8;
  struct Total {
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
  };
  std::vector<Mailbox<std::uint64_t>> mailboxes(kWorkers);
  std::vector<Total> totals(kWorkers);
  std::vector<std::thread> threads;
  for (std::uint64_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      Total total;
      const std::uint64_t expected = bench::share(request.n, kWorkers, worker);
      while (total.count < expected) {
        total.sum += mailboxes[worker].receive();
        ++total.count;
      }
      totals[worker] = total;
    });
  }
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < request.n; ++i) mailboxes[i % kWorkers].send(i);
  join_all(threads);
  const auto elapsed = Clock::now() - began;
  Total all;
  for (const Total& total : totals) {
    all.sum += total.sum;
    all.count += total.count;
  }
  require_equal(all.count, request.n, "messages handled");
  require_equal(all.sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

std::uint64_t skynet_node(std::uint64_t first, std::uint64_t leaves,
                          std::uint64_t sequential_up_to) {
  if (leaves <= sequential_up_to) return bench::sequential_sum(first, leaves);
  std::uint64_t sums[10] = {};
  std::vector<std::thread> children;
  for (std::uint64_t child = 0; child < 10; ++child) {
    children.emplace_back([&sums, child, first, leaves, sequential_up_to] {
      sums[child] = skynet_node(first + child * (leaves / 10), leaves / 10, sequential_up_to);
    });
  }
  join_all(children);
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

Result run_skynet(const Request& request, std::uint64_t smallest) {
  use(request.cores);
  bench::require_power_of_ten(request.n);
  const auto began = Clock::now();
  std::uint64_t sum = 0;
  std::thread root([&] { sum = skynet_node(0, request.n, smallest); });
  root.join();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the leaves");
  return Result(bench::skynet_nodes(request.n, smallest), elapsed)
      .extra("peak_rss_mb", bench::peak_rss_mb());
}

Result skynet(const Request& request) { return run_skynet(request, 1); }
Result skynet_seq(const Request& request) { return run_skynet(request, 1000); }

template <template <class> class Queue>
Result run_many_to_one(const Request& request) {
  use(request.cores);
  Queue<std::uint64_t> mailbox;
  StartSignal start;
  std::vector<std::thread> producers;
  for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      start.wait();
      for (std::uint64_t i = producer; i < request.n; i += kProducers) mailbox.send(i);
    });
  }
  std::uint64_t sum = 0;
  std::thread consumer([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) sum += mailbox.receive();
  });
  const auto began = Clock::now();
  start.give();
  join_all(producers);
  consumer.join();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

Result many_to_one(const Request& request) { return run_many_to_one<Mailbox>(request); }
Result bounded_many_to_one(const Request& request) {
  return run_many_to_one<BoundedMailbox>(request);
}

struct Question {
  std::uint64_t value = 0;
  std::promise<std::uint64_t> reply;
  bool last = false;
};

std::thread start_incrementer(Mailbox<Question>& mailbox) {
  return std::thread([&mailbox] {
    for (;;) {
      Question question = mailbox.receive();
      if (question.last) return;
      question.reply.set_value(question.value + 1);
    }
  });
}

std::uint64_t ask_incrementer(Mailbox<Question>& mailbox, std::uint64_t value) {
  Question question;
  question.value = value;
  std::future<std::uint64_t> reply = question.reply.get_future();
  mailbox.send(std::move(question));
  return reply.get();
}

void stop_incrementer(Mailbox<Question>& mailbox, std::thread& server) {
  Question stop;
  stop.last = true;
  mailbox.send(std::move(stop));
  server.join();
}

Result ask(const Request& request) {
  use(request.cores);
  Mailbox<Question> mailbox;
  std::thread server = start_incrementer(mailbox);
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < request.n; ++i)
    require_equal(ask_incrementer(mailbox, i), i + 1, "reply");
  const auto elapsed = Clock::now() - began;
  stop_incrementer(mailbox, server);
  return Result(request.n, elapsed);
}

Result spawn_end(const Request& request) {
  use(request.cores);
  constexpr std::uint64_t kBatch =
      64;  // Threads alive at most; more would meet the limits of small systems.
  std::atomic<std::uint64_t> ran{0};
  std::vector<std::thread> alive;
  const auto began = Clock::now();
  for (std::uint64_t left = request.n; left != 0;) {
    const std::uint64_t size = std::min(kBatch, left);
    for (std::uint64_t i = 0; i < size; ++i) {
      alive.emplace_back([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
    join_all(alive);
    left -= size;
  }
  const auto elapsed = Clock::now() - began;
  require_equal(ran, request.n, "threads that ran");
  return Result(request.n, elapsed).extra("batch", kBatch);
}

Result spawn_join(const Request& request) {
  use(request.cores);
  std::uint64_t ran = 0;
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < request.n; ++i) std::thread([&ran] { ++ran; }).join();
  const auto elapsed = Clock::now() - began;
  require_equal(ran, request.n, "threads that ran");
  return Result(request.n, elapsed);
}

/// Many threads that wait for one message each.
class Sleepers {
 public:
  explicit Sleepers(std::uint64_t count) : mailboxes_(count) {
    for (auto& mailbox : mailboxes_) {
      threads_.emplace_back([this, &mailbox] {
        started_.send(1);
        answered_ += mailbox.receive();
      });
    }
    for (std::uint64_t i = 0; i < count; ++i) started_.receive();
  }

  /// Each must still be there to take its message.
  std::uint64_t wake_all() {
    for (auto& mailbox : mailboxes_) mailbox.send(1);
    join_all(threads_);
    return answered_;
  }

 private:
  std::vector<Mailbox<std::uint64_t>> mailboxes_;
  Mailbox<std::uint64_t> started_;
  std::atomic<std::uint64_t> answered_{0};
  std::vector<std::thread> threads_;
};

Result idle_memory(const Request& request) {
  use(request.cores);
  const std::uint64_t before = bench::resident_bytes();
  const auto began = Clock::now();
  Sleepers sleepers(request.n);
  const auto elapsed = Clock::now() - began;
  const std::uint64_t after = bench::resident_bytes();
  require_equal(sleepers.wake_all(), request.n, "threads that were alive");
  return Result(request.n, elapsed)
      .extra("bytes_per_actor", (static_cast<double>(after) - static_cast<double>(before)) /
                                    static_cast<double>(request.n))
      .extra("not_counted", "kernel memory of the threads");
}

Result idle_cpu(const Request& request) {
  use(request.cores);
  Sleepers sleepers(request.n);
  const auto began = Clock::now();
  bench::stay_idle_until_released();
  const auto elapsed = Clock::now() - began;
  require_equal(sleepers.wake_all(), request.n, "threads that were alive");
  return Result(0, elapsed);
}

Result idle_round_trip(const Request& request) {
  use(request.cores);
  Mailbox<Question> mailbox;
  std::thread server = start_incrementer(mailbox);
  std::vector<double> samples;
  Clock::duration total{};
  for (std::uint64_t i = 0; i < request.n; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto began = Clock::now();
    require_equal(ask_incrementer(mailbox, i), i + 1, "reply");
    const auto elapsed = Clock::now() - began;
    total += elapsed;
    samples.push_back(bench::to_ns(elapsed) / 1e3);
  }
  stop_incrementer(mailbox, server);
  return Result(request.n, total)
      .extra("p50_us", bench::percentile(samples, 0.50))
      .extra("p99_us", bench::percentile(samples, 0.99));
}

Result run_lock(const Request& request, std::uint64_t workers) {
  use(request.cores);
  std::mutex mutex;
  StartSignal start;
  std::uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      start.wait();
      for (std::uint64_t i = bench::share(request.n, workers, worker); i != 0; --i) {
        const std::lock_guard lock(mutex);
        ++counter;
        asm volatile("" : "+m"(counter));
      }
    });
  }
  const auto began = Clock::now();
  start.give();
  join_all(threads);
  const auto elapsed = Clock::now() - began;
  require_equal(counter, request.n, "count under the lock");
  return Result(request.n, elapsed);
}

Result lock(const Request& request) { return run_lock(request, 1); }
Result lock_contended(const Request& request) { return run_lock(request, 8); }

Result yield(const Request& request) {
  use(request.cores);
  StartSignal start;
  std::uint64_t turns[2] = {};
  std::vector<std::thread> threads;
  for (std::uint64_t self = 0; self < 2; ++self) {
    threads.emplace_back([&, self] {
      start.wait();
      for (std::uint64_t i = bench::share(request.n, 2, self); i != 0; --i) {
        ++turns[self];
        std::this_thread::yield();
      }
    });
  }
  const auto began = Clock::now();
  start.give();
  join_all(threads);
  const auto elapsed = Clock::now() - began;
  require_equal(turns[0] + turns[1], request.n, "turns taken");
  return Result(request.n, elapsed);
}

std::string version() {
#if defined(__GLIBCXX__)
  return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE);
#else
  return "C++ standard library";
#endif
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("std_thread", version().c_str(),
                            {
                                {"counting", counting},
                                {"ping_pong", ping_pong},
                                {"thread_ring", thread_ring},
                                {"fork_join", fork_join},
                                {"skynet", skynet},
                                {"skynet_seq", skynet_seq},
                                {"many_to_one", many_to_one},
                                {"bounded_many_to_one", bounded_many_to_one},
                                {"ask", ask},
                                {"spawn_end", spawn_end},
                                {"spawn_end_stack", spawn_end},
                                {"spawn_join", spawn_join},
                                {"idle_memory", idle_memory},
                                {"blocked_memory", idle_memory},
                                {"idle_cpu", idle_cpu},
                                {"idle_round_trip", idle_round_trip},
                                {"lock", lock},
                                {"lock_contended", lock_contended},
                                {"yield", yield},
                            },
                            argc, argv);
}
