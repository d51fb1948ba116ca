// The peer "Boost.Fiber": an actor is a fiber, its mailbox a channel. With one core the round_robin
// scheduler (the library's default), with more its work_stealing scheduler, whose threads poll.
// Left out: see ../../README.md.

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "cores.hpp"
#include "program.hpp"

namespace {

namespace fibers = boost::fibers;
using bench::Clock;
using bench::Request;
using bench::require;
using bench::require_equal;
using bench::Result;
using boost_fiber::Cores;
using fibers::fiber;

using Value = std::uint64_t;
using Bounded = fibers::buffered_channel<Value>;
using Unbuffered = fibers::unbuffered_channel<Value>;

constexpr std::uint64_t kProducers = 8;
constexpr std::size_t kBound = 1024;    // A channel needs a bound, and a power of two.
constexpr std::size_t kSmallBound = 2;  // The smallest there is.
constexpr std::size_t kStack = 16 * 1024;

Value take(Bounded& channel) {
  Value value = 0;
  require(channel.pop(value) == fibers::channel_op_status::success, "the channel is open");
  return value;
}

Value take(Unbuffered& channel) {
  Value value = 0;
  require(channel.pop(value) == fibers::channel_op_status::success, "the channel is open");
  return value;
}

void join_all(std::vector<fiber>& all) {
  for (fiber& one : all) one.join();
  all.clear();
}

Result counting(const Request& request) {
  const Cores cores(request.cores);
  Bounded mailbox(kBound);
  std::uint64_t sum = 0;
  Clock::time_point began;
  fiber receiver([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) sum += take(mailbox);
  });
  fiber producer([&] {
    began = Clock::now();
    for (std::uint64_t i = 0; i < request.n; ++i) mailbox.push(i);
  });
  producer.join();
  receiver.join();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed).extra("queue_bound", kBound);
}

/// Two fibers and two channels, `request.n` times there and back.
template <class Channel, class... Bound>
Clock::duration exchange(const Request& request, Bound... bound) {
  const auto began = Clock::now();
  Channel to_ping(bound...);
  Channel to_pong(bound...);
  fiber pong([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) {
      const Value got = take(to_pong);
      require_equal(got, i, "ping");
      to_ping.push(got + 1);
    }
  });
  fiber ping([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) {
      to_pong.push(i);
      require_equal(take(to_ping), i + 1, "pong");
    }
  });
  ping.join();
  pong.join();
  return Clock::now() - began;
}

Result ping_pong(const Request& request) {
  const Cores cores(request.cores);
  return Result(2 * request.n, exchange<Bounded>(request, kSmallBound))
      .extra("queue_bound", kSmallBound);
}

Result channel(const Request& request) {
  const Cores cores(request.cores);
  return Result(request.n, exchange<Unbuffered>(request));
}

Result thread_ring(const Request& request) {
  const Cores cores(request.cores);
  constexpr std::uint64_t kActors = 100;
  std::vector<std::unique_ptr<Bounded>> ring;
  for (std::uint64_t i = 0; i < kActors; ++i)
    ring.push_back(std::make_unique<Bounded>(kSmallBound));
  Bounded finished(kSmallBound);
  std::vector<fiber> actors;
  for (std::uint64_t self = 0; self < kActors; ++self) {
    actors.emplace_back([&, self] {
      Value hops_left = 0;
      while (ring[self]->pop(hops_left) == fibers::channel_op_status::success) {
        if (hops_left == 0) {
          finished.push(self);
        } else {
          ring[(self + 1) % kActors]->push(hops_left - 1);
        }
      }
    });
  }
  const auto began = Clock::now();
  ring[0]->push(request.n);
  const std::uint64_t last = take(finished);
  const auto elapsed = Clock::now() - began;
  for (auto& mailbox : ring) mailbox->close();
  join_all(actors);
  require_equal(last, request.n % kActors, "actor that got the last hop");
  return Result(request.n, elapsed).extra("queue_bound", kSmallBound);
}

Result fork_join(const Request& request) {
  const Cores cores(request.cores);
  constexpr std::uint64_t kWorkers = 8;
  struct Worker {
    Bounded mailbox{kBound};
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
  };
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<fiber> actors;
  for (std::uint64_t i = 0; i < kWorkers; ++i) {
    workers.push_back(std::make_unique<Worker>());
    actors.emplace_back([&worker = *workers.back()] {
      Value value = 0;
      while (worker.mailbox.pop(value) == fibers::channel_op_status::success) {
        worker.sum += value;
        ++worker.count;
      }
    });
  }
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < request.n; ++i) workers[i % kWorkers]->mailbox.push(i);
  for (auto& worker : workers) worker->mailbox.close();
  join_all(actors);
  const auto elapsed = Clock::now() - began;
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  for (auto& worker : workers) {
    sum += worker->sum;
    count += worker->count;
  }
  require_equal(count, request.n, "messages handled");
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed).extra("queue_bound", kBound);
}

/// Starts a fiber on a small stack, at once and before the caller goes on: what keeps the tree's
/// front narrow.
template <class Body>
fiber start_now(Body body) {
  return fiber(fibers::launch::dispatch, std::allocator_arg, fibers::fixedsize_stack(kStack),
               std::move(body));
}

void skynet_node(Bounded& parent, Value first, std::uint64_t leaves,
                 std::uint64_t sequential_up_to) {
  if (leaves <= sequential_up_to) {
    parent.push(bench::sequential_sum(first, leaves));
    return;
  }
  Bounded sums(16);
  for (std::uint64_t child = 0; child < 10; ++child) {
    const Value child_first = first + child * (leaves / 10);
    start_now([&sums, child_first, leaves, sequential_up_to] {
      skynet_node(sums, child_first, leaves / 10, sequential_up_to);
    }).detach();
  }
  Value total = 0;
  for (int child = 0; child < 10; ++child) total += take(sums);
  parent.push(total);
}

Result run_skynet(const Request& request, std::uint64_t smallest) {
  bench::require_power_of_ten(request.n);
  const Cores cores(request.cores);
  const auto began = Clock::now();
  Bounded result(kSmallBound);
  start_now([&] { skynet_node(result, 0, request.n, smallest); }).detach();
  const Value sum = take(result);
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the leaves");
  return Result(bench::skynet_nodes(request.n, smallest), elapsed)
      .extra("peak_rss_mb", bench::peak_rss_mb());
}

Result skynet(const Request& request) { return run_skynet(request, 1); }
Result skynet_seq(const Request& request) { return run_skynet(request, 1000); }

Result many_to_one(const Request& request) {
  const Cores cores(request.cores);
  Bounded mailbox(kBound);
  std::vector<fiber> actors;
  std::uint64_t sum = 0;
  const auto began = Clock::now();
  for (std::uint64_t producer = 0; producer < kProducers; ++producer) {
    actors.emplace_back([&, producer] {
      for (std::uint64_t i = producer; i < request.n; i += kProducers) mailbox.push(i);
    });
  }
  actors.emplace_back([&] {
    for (std::uint64_t i = 0; i < request.n; ++i) sum += take(mailbox);
  });
  join_all(actors);
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed).extra("queue_bound", kBound);
}

struct Question {
  Value value = 0;
  fibers::promise<Value> reply;
};
using Questions = fibers::buffered_channel<Question>;

void answer_until_closed(Questions& questions) {
  for (;;) {
    Question question;
    if (questions.pop(question) != fibers::channel_op_status::success) return;
    question.reply.set_value(question.value + 1);
  }
}

Value ask_incrementer(Questions& questions, Value value) {
  Question question;
  question.value = value;
  fibers::future<Value> reply = question.reply.get_future();
  questions.push(std::move(question));
  return reply.get();
}

Result ask(const Request& request) {
  const Cores cores(request.cores);
  Questions questions(kSmallBound);
  fiber server([&] { answer_until_closed(questions); });
  Clock::duration elapsed{};
  fiber client([&] {
    const auto began = Clock::now();
    for (std::uint64_t i = 0; i < request.n; ++i)
      require_equal(ask_incrementer(questions, i), i + 1, "reply");
    elapsed = Clock::now() - began;
  });
  client.join();
  questions.close();
  server.join();
  return Result(request.n, elapsed);
}

template <class Stacks>
Result run_spawn_end(const Request& request, Stacks stacks) {
  constexpr std::uint64_t kBatch =
      1000;  // Fibers alive at most: without a bound, each would get a new stack.
  const Cores cores(request.cores);
  std::uint64_t ended = 0;
  std::atomic<std::uint64_t> ran{0};
  std::vector<fiber> alive;
  alive.reserve(kBatch);
  const auto began = Clock::now();
  while (ended < request.n) {
    const std::uint64_t size = std::min(kBatch, request.n - ended);
    for (std::uint64_t i = 0; i < size; ++i) {
      alive.emplace_back(std::allocator_arg, stacks,
                         [&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
    join_all(alive);
    ended += size;
  }
  const auto elapsed = Clock::now() - began;
  require_equal(ran, request.n, "fibers that ran");
  return Result(request.n, elapsed).extra("batch", kBatch);
}

template <class Stacks>
Result run_spawn_join(const Request& request, Stacks stacks) {
  const Cores cores(request.cores);
  std::uint64_t ran = 0;
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < request.n; ++i)
    fiber(std::allocator_arg, stacks, [&ran] { ++ran; }).join();
  const auto elapsed = Clock::now() - began;
  require_equal(ran, request.n, "fibers that ran");
  return Result(request.n, elapsed);
}

// The library's pool of stacks may be used by one thread only.
Result spawn_end(const Request& request) {
  if (request.cores == 1) return run_spawn_end(request, fibers::pooled_fixedsize_stack(kStack));
  return run_spawn_end(request, fibers::fixedsize_stack(kStack));
}
Result spawn_join(const Request& request) {
  if (request.cores == 1) return run_spawn_join(request, fibers::pooled_fixedsize_stack(kStack));
  return run_spawn_join(request, fibers::fixedsize_stack(kStack));
}

/// Many fibers that wait for one message each.
class Sleepers {
 public:
  explicit Sleepers(std::uint64_t count) {
    mailboxes_.reserve(count);
    fibers_.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      mailboxes_.push_back(std::make_unique<Unbuffered>());
      fibers_.push_back(
          start_now([&mailbox = *mailboxes_.back(), this] { answered_ += take(mailbox); }));
    }
  }

  /// Each must still be there to take its message.
  std::uint64_t wake_all() {
    for (auto& mailbox : mailboxes_) mailbox->push(1);
    join_all(fibers_);
    return answered_;
  }

 private:
  std::vector<std::unique_ptr<Unbuffered>> mailboxes_;
  std::vector<fiber> fibers_;
  std::atomic<std::uint64_t> answered_{0};
};

Result idle_memory(const Request& request) {
  const Cores cores(request.cores);
  const std::uint64_t before = bench::resident_bytes();
  const auto began = Clock::now();
  Sleepers sleepers(request.n);
  const auto elapsed = Clock::now() - began;
  const std::uint64_t after = bench::resident_bytes();
  require_equal(sleepers.wake_all(), request.n, "fibers that were alive");
  return Result(request.n, elapsed)
      .extra("bytes_per_actor", (static_cast<double>(after) - static_cast<double>(before)) /
                                    static_cast<double>(request.n));
}

Result idle_cpu(const Request& request) {
  const Cores cores(request.cores);
  Sleepers sleepers(request.n);
  const auto began = Clock::now();
  bench::stay_idle_until_released();
  const auto elapsed = Clock::now() - began;
  require_equal(sleepers.wake_all(), request.n, "fibers that were alive");
  return Result(0, elapsed);
}

/// The fiber that answers lives on a thread of its own; the asker is a thread outside.
Result idle_round_trip(const Request& request) {
  Questions questions(kSmallBound);
  std::thread server([&] { answer_until_closed(questions); });
  std::vector<double> samples;
  Clock::duration total{};
  for (std::uint64_t i = 0; i < request.n; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto began = Clock::now();
    require_equal(ask_incrementer(questions, i), i + 1, "reply");
    const auto elapsed = Clock::now() - began;
    total += elapsed;
    samples.push_back(bench::to_ns(elapsed) / 1e3);
  }
  questions.close();
  server.join();
  return Result(request.n, total)
      .extra("p50_us", bench::percentile(samples, 0.50))
      .extra("p99_us", bench::percentile(samples, 0.99));
}

Result run_lock(const Request& request, std::uint64_t workers) {
  const Cores cores(request.cores);
  fibers::mutex mutex;
  std::uint64_t counter = 0;
  std::vector<fiber> actors;
  const auto began = Clock::now();
  for (std::uint64_t worker = 0; worker < workers; ++worker) {
    actors.emplace_back([&, worker] {
      for (std::uint64_t i = bench::share(request.n, workers, worker); i != 0; --i) {
        const std::lock_guard<fibers::mutex> lock(mutex);
        ++counter;
        asm volatile("" : "+m"(counter));
      }
    });
  }
  join_all(actors);
  const auto elapsed = Clock::now() - began;
  require_equal(counter, request.n, "count under the lock");
  return Result(request.n, elapsed);
}

Result lock(const Request& request) { return run_lock(request, 1); }
Result lock_contended(const Request& request) { return run_lock(request, 8); }

Result yield(const Request& request) {
  const Cores cores(request.cores);
  std::uint64_t turns[2] = {};
  std::vector<fiber> actors;
  const auto began = Clock::now();
  for (std::uint64_t self = 0; self < 2; ++self) {
    actors.emplace_back([&, self] {
      for (std::uint64_t i = bench::share(request.n, 2, self); i != 0; --i) {
        ++turns[self];
        boost::this_fiber::yield();
      }
    });
  }
  join_all(actors);
  const auto elapsed = Clock::now() - began;
  require_equal(turns[0] + turns[1], request.n, "turns taken");
  return Result(request.n, elapsed);
}

}  // namespace

int main(int argc, char** argv) {
  std::string version = "Boost.Fiber " BOOST_LIB_VERSION;
  std::replace(version.begin(), version.end(), '_', '.');
  return bench::run_program("boost_fiber", version.c_str(),
                            {
                                {"counting", counting},
                                {"ping_pong", ping_pong},
                                {"thread_ring", thread_ring},
                                {"fork_join", fork_join},
                                {"skynet", skynet},
                                {"skynet_seq", skynet_seq},
                                {"many_to_one", many_to_one},
                                {"bounded_many_to_one", many_to_one},
                                {"ask", ask},
                                {"spawn_end", spawn_end},
                                {"spawn_end_stack", spawn_end},
                                {"spawn_join", spawn_join},
                                {"idle_memory", idle_memory},
                                {"blocked_memory", idle_memory},
                                {"idle_cpu", idle_cpu},
                                {"idle_round_trip", idle_round_trip},
                                {"channel", channel},
                                {"lock", lock},
                                {"lock_contended", lock_contended},
                                {"yield", yield},
                            },
                            argc, argv);
}
