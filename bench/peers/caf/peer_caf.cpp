// The peer "CAF": event-based actors of the C++ Actor Framework, as packaged (0.17). The main
// thread only starts the work and waits for its end. Left out: see ../../README.md.

#include <caf/all.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "program.hpp"

namespace {

using bench::Clock;
using bench::Request;
using bench::require;
using bench::require_equal;
using bench::Result;
using caf::actor;
using caf::behavior;
using caf::event_based_actor;
using caf::stateful_actor;

using Value = std::uint64_t;
using Go = caf::atom_constant<caf::atom("go")>;
using Done = caf::atom_constant<caf::atom("done")>;

constexpr Value kProducers = 8;

/// An actor system with as many scheduler threads as asked for.
class System {
 public:
  explicit System(unsigned cores) : system_(configure(cores)) {}
  caf::actor_system& operator*() { return system_; }
  caf::actor_system* operator->() { return &system_; }

 private:
  caf::actor_system_config& configure(unsigned cores) {
    config_.set("scheduler.max-threads", static_cast<std::int64_t>(cores));
    return config_;
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
};

template <class Self>
Value receive_value(Self& self) {
  Value result = 0;
  self->receive([&](Value value) { result = value; });
  return result;
}

/// Reports to `observer` the sum of the first `expected` numbers sent to it.
struct Adding {
  Value sum = 0;
  Value count = 0;
};

behavior adder(stateful_actor<Adding>* self, actor observer, Value expected) {
  return {[self, observer, expected](Value value) {
    Adding& state = self->state;
    state.sum += value;
    if (++state.count != expected) return;
    self->send(observer, state.sum);
    self->quit();
  }};
}

/// Sends first, first + step, ... below `end` when told to go.
behavior producer(event_based_actor* self, actor receiver, Value first, Value step, Value end) {
  return {[=](Go) {
    for (Value value = first; value < end; value += step) self->send(receiver, value);
    self->quit();
  }};
}

Result counting(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const actor receiver = system->spawn(adder, actor(self), request.n);
  const actor sender = system->spawn(producer, receiver, Value{0}, Value{1}, request.n);
  const auto began = Clock::now();
  self->send(sender, Go::value);
  const Value sum = receive_value(self);
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

Result many_to_one(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const actor consumer = system->spawn(adder, actor(self), request.n);
  std::vector<actor> producers;
  for (Value i = 0; i < kProducers; ++i) {
    producers.push_back(system->spawn(producer, consumer, i, kProducers, request.n));
  }
  const auto began = Clock::now();
  for (const actor& one : producers) self->send(one, Go::value);
  const Value sum = receive_value(self);
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

behavior pong(event_based_actor* self, Value rounds) {
  auto expected = std::make_shared<Value>(0);
  return {[=](Value value) {
    require_equal(value, *expected, "ping");
    self->send(caf::actor_cast<actor>(self->current_sender()), value + 1);
    if (++*expected == rounds) self->quit();
  }};
}

behavior ping(event_based_actor* self, actor other, actor observer, Value rounds) {
  auto sent = std::make_shared<Value>(0);
  self->send(other, Value{0});
  return {[=](Value value) {
    require_equal(value, *sent + 1, "pong");
    if (++*sent < rounds) {
      self->send(other, *sent);
    } else {
      self->send(observer, Done::value);
      self->quit();
    }
  }};
}

Result ping_pong(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const auto began = Clock::now();
  const actor other = system->spawn(pong, request.n);
  system->spawn(ping, other, actor(self), request.n);
  self->receive([](Done) {});
  return Result(2 * request.n, Clock::now() - began);
}

struct RingMember {
  actor next;
};

behavior ring_member(stateful_actor<RingMember>* self, actor observer, Value index) {
  return {
      [=](const actor& next) { self->state.next = next; },
      [=](Value hops_left) {
        if (hops_left == 0) {
          self->send(observer, index);
        } else {
          self->send(self->state.next, hops_left - 1);
        }
      },
      [=](Done) {  // The ring refers to itself: it is taken apart by hand.
        self->state.next = nullptr;
        self->quit();
      },
  };
}

Result thread_ring(const Request& request) {
  constexpr Value kActors = 100;
  System system(request.cores);
  caf::scoped_actor self(*system);
  std::vector<actor> ring;
  for (Value i = 0; i < kActors; ++i) ring.push_back(system->spawn(ring_member, actor(self), i));
  for (Value i = 0; i < kActors; ++i) self->send(ring[i], ring[(i + 1) % kActors]);
  const auto began = Clock::now();
  self->send(ring[0], request.n);
  const Value last = receive_value(self);
  const auto elapsed = Clock::now() - began;
  for (const actor& one : ring) self->send(one, Done::value);
  require_equal(last, request.n % kActors, "actor that got the last hop");
  return Result(request.n, elapsed);
}

behavior dealer(event_based_actor* self, std::vector<actor> workers, Value end) {
  return {[=](Go) {
    for (Value value = 0; value < end; ++value) self->send(workers[value % workers.size()], value);
    self->quit();
  }};
}

Result fork_join(const Request& request) {
  constexpr Value kWorkers = 8;
  System system(request.cores);
  caf::scoped_actor self(*system);
  std::vector<actor> workers;
  for (Value i = 0; i < kWorkers && i < request.n; ++i) {
    workers.push_back(system->spawn(adder, actor(self), bench::share(request.n, kWorkers, i)));
  }
  const auto count = workers.size();
  const actor sender = system->spawn(dealer, std::move(workers), request.n);
  const auto began = Clock::now();
  self->send(sender, Go::value);
  Value sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += receive_value(self);
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

behavior skynet_node(stateful_actor<Adding>* self, actor parent, Value first, Value leaves,
                     Value sequential_up_to) {
  if (leaves <= sequential_up_to) {
    self->send(parent, bench::sequential_sum(first, leaves));
    return {};
  }
  for (Value child = 0; child < 10; ++child) {
    self->spawn(skynet_node, actor(self), first + child * (leaves / 10), leaves / 10,
                sequential_up_to);
  }
  return {[self, parent](Value sum) {
    Adding& state = self->state;
    state.sum += sum;
    if (++state.count != 10) return;
    self->send(parent, state.sum);
    self->quit();
  }};
}

Result run_skynet(const Request& request, Value smallest) {
  bench::require_power_of_ten(request.n);
  System system(request.cores);
  caf::scoped_actor self(*system);
  const auto began = Clock::now();
  system->spawn(skynet_node, actor(self), Value{0}, request.n, smallest);
  const Value sum = receive_value(self);
  const auto elapsed = Clock::now() - began;
  require_equal(sum, bench::sum_below(request.n), "sum of the leaves");
  return Result(bench::skynet_nodes(request.n, smallest), elapsed)
      .extra("peak_rss_mb", bench::peak_rss_mb());
}

Result skynet(const Request& request) { return run_skynet(request, 1); }
Result skynet_seq(const Request& request) { return run_skynet(request, 1000); }

behavior incrementer(event_based_actor*) {
  return {[](Value value) { return value + 1; }};
}

void ask_from(event_based_actor* self, const actor& server, const actor& observer, Value value,
              Value end) {
  if (value == end) {
    self->send(observer, Done::value);
    return;
  }
  self->request(server, caf::infinite, value)
      .then(
          [=](Value reply) {
            require_equal(reply, value + 1, "reply");
            ask_from(self, server, observer, value + 1, end);
          },
          [](const caf::error&) { require(false, "an ask is answered"); });
}

void asker(event_based_actor* self, actor server, actor observer, Value rounds) {
  ask_from(self, server, observer, 0, rounds);
}

Result ask(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const actor server = system->spawn(incrementer);
  const auto began = Clock::now();
  system->spawn(asker, server, actor(self), request.n);
  self->receive([](Done) {});
  return Result(request.n, Clock::now() - began);
}

/// The asker is the main thread.
Result idle_round_trip(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const actor server = system->spawn(incrementer);
  std::vector<double> samples;
  Clock::duration total{};
  for (Value i = 0; i < request.n; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto began = Clock::now();
    self->request(server, caf::infinite, i)
        .receive([&](Value reply) { require_equal(reply, i + 1, "reply"); },
                 [](const caf::error&) { require(false, "an ask is answered"); });
    const auto elapsed = Clock::now() - began;
    total += elapsed;
    samples.push_back(bench::to_ns(elapsed) / 1e3);
  }
  return Result(request.n, total)
      .extra("p50_us", bench::percentile(samples, 0.50))
      .extra("p99_us", bench::percentile(samples, 0.99));
}

std::atomic<Value> actors_run{0};

void short_lived(event_based_actor*) { actors_run.fetch_add(1, std::memory_order_relaxed); }

constexpr Value kBatch = 1000;

void spawn_batch(stateful_actor<Adding>* self, Value wanted) {
  const Value size = std::min(kBatch, wanted - self->state.sum);
  for (Value i = 0; i < size; ++i) self->spawn<caf::monitored>(short_lived);
  self->state.sum += size;
}

/// Spawns `wanted` actors in batches, and awaits the end of each batch. `sum` counts the spawned,
/// `count` the ended.
behavior spawner(stateful_actor<Adding>* self, actor observer, Value wanted) {
  self->set_down_handler([=](const caf::down_msg&) {
    if (++self->state.count != self->state.sum) return;
    if (self->state.sum < wanted) {
      spawn_batch(self, wanted);
    } else {
      self->send(observer, Done::value);
      self->quit();
    }
  });
  return {[=](Go) { spawn_batch(self, wanted); }};
}

Result spawn_end(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const actor parent = system->spawn(spawner, actor(self), request.n);
  const auto began = Clock::now();
  self->send(parent, Go::value);
  self->receive([](Done) {});
  const auto elapsed = Clock::now() - began;
  require_equal(actors_run, request.n, "actors that ran");
  return Result(request.n, elapsed).extra("batch", kBatch);
}

behavior sleeper(event_based_actor* self) {
  actors_run.fetch_add(1, std::memory_order_relaxed);
  return {[self](Go) {
    actors_run.fetch_sub(1, std::memory_order_relaxed);
    self->quit();
  }};
}

/// Many actors that have started and wait for a message.
class Sleepers {
 public:
  Sleepers(caf::actor_system& system, Value count) {
    actors_.reserve(count);
    for (Value i = 0; i < count; ++i) actors_.push_back(system.spawn(sleeper));
    wait_until_running(count);
  }

  /// Each must still be there to take its message.
  void wake_all() {
    for (const actor& one : actors_) caf::anon_send(one, Go::value);
    wait_until_running(0);
  }

 private:
  static void wait_until_running(Value count) {
    const auto deadline = Clock::now() + std::chrono::seconds(120);
    while (actors_run.load() != count) {
      require(Clock::now() < deadline, "every actor starts, and answers, in two minutes");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::vector<actor> actors_;
};

Result idle_memory(const Request& request) {
  System system(request.cores);
  const std::uint64_t before = bench::resident_bytes();
  const auto began = Clock::now();
  Sleepers sleepers(*system, request.n);
  const auto elapsed = Clock::now() - began;
  const std::uint64_t after = bench::resident_bytes();
  sleepers.wake_all();
  return Result(request.n, elapsed)
      .extra("bytes_per_actor", (static_cast<double>(after) - static_cast<double>(before)) /
                                    static_cast<double>(request.n));
}

Result idle_cpu(const Request& request) {
  System system(request.cores);
  Sleepers sleepers(*system, request.n);
  const auto began = Clock::now();
  bench::stay_idle_until_released();
  const auto elapsed = Clock::now() - began;
  sleepers.wake_all();
  return Result(0, elapsed);
}

/// What the timers tell when they fire.
struct Firing {
  std::vector<double> late_ms;
};

behavior timer_target(stateful_actor<Firing>* self, actor observer, Value expected) {
  self->state.late_ms.reserve(expected);
  return {[=](std::int64_t due_ns) {
    const std::int64_t now_ns = Clock::now().time_since_epoch().count();
    self->state.late_ms.push_back(static_cast<double>(now_ns - due_ns) / 1e6);
    if (self->state.late_ms.size() != expected) return;
    std::vector<double>& late = self->state.late_ms;
    self->send(observer, bench::percentile(late, 0.0), bench::percentile(late, 0.5),
               bench::percentile(late, 1.0));
    self->quit();
  }};
}

behavior timer_starter(event_based_actor* self, actor target, actor observer, Value count) {
  return {[=](Go) {
    const auto began = Clock::now();
    for (Value i = 0; i < count; ++i) {
      const std::int64_t due_ns =
          (Clock::now() + std::chrono::seconds(1)).time_since_epoch().count();
      self->delayed_send(target, std::chrono::seconds(1), due_ns);
    }
    self->send(observer, static_cast<Value>((Clock::now() - began).count()));
    self->quit();
  }};
}

/// Start and fire only: a delayed message cannot be taken back in this version.
Result timers(const Request& request) {
  System system(request.cores);
  caf::scoped_actor self(*system);
  const actor target = system->spawn(timer_target, actor(self), request.n);
  const actor starter = system->spawn(timer_starter, target, actor(self), request.n);
  self->send(starter, Go::value);
  const Value start_ns = receive_value(self);
  double earliest = 0.0;
  double median = 0.0;
  double latest = 0.0;
  self->receive([&](double first, double second, double third) {
    earliest = first;
    median = second;
    latest = third;
  });
  require(earliest > -2.0, "no timer fires before it is due");
  return Result(request.n, std::chrono::nanoseconds(start_ns))
      .extra("start_ns", static_cast<double>(start_ns) / static_cast<double>(request.n))
      .extra("start_includes", "one clock reading")
      .extra("late_p50_ms", median)
      .extra("late_max_ms", latest);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string version = "CAF " + std::to_string(CAF_MAJOR_VERSION) + '.' +
                              std::to_string(CAF_MINOR_VERSION) + '.' +
                              std::to_string(CAF_PATCH_VERSION);
  return bench::run_program("caf", version.c_str(),
                            {
                                {"counting", counting},
                                {"ping_pong", ping_pong},
                                {"thread_ring", thread_ring},
                                {"fork_join", fork_join},
                                {"skynet", skynet},
                                {"skynet_seq", skynet_seq},
                                {"many_to_one", many_to_one},
                                {"ask", ask},
                                {"spawn_end", spawn_end},
                                {"idle_memory", idle_memory},
                                {"idle_cpu", idle_cpu},
                                {"idle_round_trip", idle_round_trip},
                                {"timers", timers},
                            },
                            argc, argv);
}
