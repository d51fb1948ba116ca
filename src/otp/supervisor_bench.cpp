// What supervisors cost, on one core: a child that fails and is started again, from the message
// that makes it fail to the new one's first word; flat, however many restarts there have been.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>

#include "bulkhead/otp.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Pid;

struct Born {
  Pid pid;
};
struct End {};
using Box = bulkhead::Mailbox<Born>;

struct Child {
  bulkhead::Address<Box> parent;
  explicit Child(bulkhead::Address<Box> to) : parent(to) {}
  void started() { parent.send(Born{this_actor::pid()}); }
  void receive(End /*message*/) { this_actor::stop(); }
};

template <class Body>
void on_one_core(Body body) {
  bulkhead::Config config;
  config.cores = 1;
  config.hand_over_after = bulkhead::kForever;  // the thread whose time is taken is kept
  bulkhead::Runtime runtime(config);
  runtime.start();
  runtime.spawn<Box>(std::move(body));
  static_cast<void>(runtime.wait_for_end(bulkhead::kForever));
}

void restart(benchmark::State& state) {
  on_one_core([&state](Box& mailbox) {
    bulkhead::SupervisorSpec spec;
    spec.intensity = std::numeric_limits<unsigned>::max();
    spec.period = std::chrono::milliseconds(1);
    spec.children = {bulkhead::child<Child>("child", mailbox.address())};
    const auto supervisor = bulkhead::start_supervisor(std::move(spec));
    Pid child = mailbox.next<Born>().pid;
    for (auto _ : state) {
      bulkhead::Address<Child>(child).send(End{});
      child = mailbox.next<Born>().pid;
    }
    supervisor->stop();
  });
}
BENCHMARK(restart);

void start_and_terminate_child(benchmark::State& state) {
  struct Idle {};
  on_one_core([&state](Box& /*mailbox*/) {
    bulkhead::SupervisorSpec spec;
    spec.strategy = bulkhead::Strategy::kSimpleOneForOne;
    const auto supervisor = bulkhead::start_supervisor(std::move(spec));
    const auto start = bulkhead::child<Idle>("").start;
    for (auto _ : state) {
      const Pid child = supervisor->start_child(start).value();
      benchmark::DoNotOptimize(supervisor->terminate_child(child));
    }
    supervisor->stop();
  });
}
BENCHMARK(start_and_terminate_child);

}  // namespace
