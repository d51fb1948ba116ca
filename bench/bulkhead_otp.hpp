// Bulkhead's works of links, names, supervisors and servers.
#pragma once

#include <bulkhead/otp.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

#include "bulkhead_lives.hpp"
#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

/// Calls `once()` so many times. Gives way in between, as a handler should that runs for long.
template <class Once>
Clock::duration time_of(std::uint64_t times, Once once) {
  const auto began = Clock::now();
  for (std::uint64_t i = 0; i < times; ++i) {
    if (i % 1000 == 999) this_actor::yield();
    once();
  }
  return Clock::now() - began;
}

/// An actor that runs `body(n)`, reports its length, and is pinned to core 0.
template <class Body>
Result run_in_an_actor(const Request& request, Body body) {
  System system(request.cores);
  Clock::duration elapsed{};
  system->spawn_with(pinned_to(0), [&elapsed, &request, observer = system.observer(),
                                    body = std::move(body)]() mutable {
    elapsed = body(request.n);
    observer.send(Sum{request.n});
  });
  require_equal(system.total(), request.n, "operations");
  return Result(request.n, elapsed);
}

/// One that can monitor: it has a handler for Down, which must not be called.
class Watcher {
 public:
  Watcher(Port<Sum> observer, std::uint64_t times, Clock::duration* elapsed)
      : observer_(observer), times_(times), elapsed_(elapsed) {}

  void started() {
    const auto other = ::bulkhead::spawn<Sleeper>(Address<Sleeper>(), observer_);
    *elapsed_ = time_of(times_, [other] {
      require(this_actor::demonitor(this_actor::monitor(other)), "no Down comes");
    });
    observer_.send(Sum{times_});
  }
  void receive(const ::bulkhead::Down& /*down*/) { require(false, "no Down comes"); }

 private:
  Port<Sum> observer_;
  std::uint64_t times_;
  Clock::duration* elapsed_;
};

inline Result monitor(const Request& request) {
  System system(request.cores);
  Clock::duration elapsed{};
  system->spawn<Watcher>(system.observer(), request.n, &elapsed);
  require_equal(system.total(), request.n, "monitors");
  return Result(request.n, elapsed);
}

/// Links so many actors to itself.
class Hub {
 public:
  explicit Hub(std::uint64_t linked) : linked_(linked) {}

  void started() {
    for (std::uint64_t i = 0; i < linked_; ++i) {
      ::bulkhead::spawn_with<Sleeper>({.linked = true}, Address<Sleeper>(), Port<Sum>());
    }
  }
  void receive(WakeUp) {}

 private:
  std::uint64_t linked_;
};

inline Result link_storm(const Request& request) {
  ::bulkhead::Config config;
  config.cores = request.cores;
  config.on_death = [](const ::bulkhead::Death&) {};
  ::bulkhead::Runtime runtime(config);
  runtime.start();
  const auto hub = runtime.spawn<Hub>(request.n);
  runtime.wait_for_idle();
  require_equal(runtime.stats().actors(), request.n + 1, "actors before");
  const auto began = Clock::now();
  static_cast<void>(::bulkhead::exit(hub, ::bulkhead::Exit::custom("storm")));
  runtime.wait_for_end();
  const auto elapsed = Clock::now() - began;
  require_equal(runtime.stats().actors_ended, request.n + 1, "actors that ended");
  return Result(request.n, elapsed);
}

inline Result whereis(const Request& request) {
  return run_in_an_actor(request, [](std::uint64_t n) {
    const auto other = ::bulkhead::spawn<Sleeper>(Address<Sleeper>(), Port<Sum>());
    require(::bulkhead::register_name("session_registry", other).has_value(), "it is named");
    return time_of(n, [other] {
      require(::bulkhead::whereis("session_registry") == other.pid(), "it is found");
    });
  });
}

/// Fails as soon as it has started, but for the last.
class FailingChild {
 public:
  FailingChild(std::atomic<std::uint64_t>* starts, std::uint64_t failures, Port<Sum> observer)
      : starts_(starts), failures_(failures), observer_(observer) {}

  void started() {
    const std::uint64_t start = starts_->fetch_add(1, std::memory_order_relaxed) + 1;
    if (start <= failures_) {
      this_actor::stop(::bulkhead::Exit::custom("failed"));
    } else {
      observer_.send(Sum{start});
    }
  }
  void receive(WakeUp) {}

 private:
  std::atomic<std::uint64_t>* starts_;
  std::uint64_t failures_;
  Port<Sum> observer_;
};

inline Result restart(const Request& request) {
  ::bulkhead::Config config;
  config.on_death = [](const ::bulkhead::Death&) {};
  System system(request.cores, 1, std::move(config));
  std::atomic<std::uint64_t> starts{0};
  ::bulkhead::SupervisorSpec spec;
  spec.intensity = static_cast<unsigned>(request.n);
  spec.period = std::chrono::hours(1);
  spec.children = {
      ::bulkhead::child<FailingChild>("child", &starts, request.n, Port<Sum>(system.observer()))};
  const auto began = Clock::now();
  const auto supervisor = ::bulkhead::start_supervisor(*system, std::move(spec));
  const std::uint64_t last = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(last, request.n + 1, "times the child was started");
  require(supervisor && supervisor->count_children(), "the supervisor is alive");
  return Result(request.n, elapsed);
}

struct Increment {
  std::uint64_t value = 0;
};

class IncrementingServer : public ::bulkhead::GenServer {
 public:
  std::uint64_t handle_call(Increment call) { return call.value + 1; }
};

/// On two cores the server is on the other one.
inline Result server_call(const Request& request) {
  return run_in_an_actor(request, [cores = request.cores](std::uint64_t n) {
    ::bulkhead::ServerOptions options;
    options.spawn = pinned_to(cores - 1);
    const auto server = ::bulkhead::start_server<IncrementingServer>(options);
    require(server.has_value(), "the server is started");
    const auto began = Clock::now();
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto reply = server->call(Increment{i});
      require(reply.has_value(), "a call is answered");
      require_equal(*reply, i + 1, "reply");
    }
    return Clock::now() - began;
  });
}

}  // namespace bench
