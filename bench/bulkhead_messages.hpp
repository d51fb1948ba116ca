// Bulkhead's works that send messages between a few actors.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bulkhead_system.hpp"
#include "program.hpp"

namespace bench {

constexpr std::uint64_t kProducers = 8;

/// Adds the numbers sent to it, and reports the sum of the first `expected`.
class Adder {
 public:
  Adder(Port<Sum> observer, std::uint64_t expected) : observer_(observer), missing_(expected) {}

  void receive(Number number) {
    sum_ += number.value;
    if (--missing_ == 0) observer_.send(Sum{sum_});
  }

 private:
  Port<Sum> observer_;
  std::uint64_t missing_;
  std::uint64_t sum_ = 0;
};

inline Result counting(const Request& request) {
  System system(request.cores);
  // On two cores each has its own, and every message crosses over.
  const auto receiver = system->spawn_with<Adder>(pinned_to(0), system.observer(), request.n);
  Clock::time_point began;
  system->spawn_with(pinned_to(request.cores - 1), [receiver, n = request.n, &began] {
    began = Clock::now();
    for (std::uint64_t i = 0; i < n; ++i) receiver.send(Number{i});
  });
  const std::uint64_t sum = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

class Ping;

struct Serve {
  std::uint64_t value = 0;
  Address<Ping> from;
};

struct Return {
  std::uint64_t value = 0;
};

class Pong {
 public:
  void receive(Serve serve);

 private:
  std::uint64_t expected_ = 0;
};

class Ping {
 public:
  Ping(Address<Pong> other, Port<Sum> observer, std::uint64_t rounds)
      : other_(other), observer_(observer), rounds_(rounds) {}

  void started() { serve(); }
  void receive(Return back) {
    require_equal(back.value, sent_ + 1, "pong");
    if (++sent_ < rounds_) {
      serve();
    } else {
      observer_.send(Sum{sent_});
    }
  }

 private:
  void serve() { other_.send(Serve{sent_, this_actor::address(this)}); }

  Address<Pong> other_;
  Port<Sum> observer_;
  std::uint64_t rounds_;
  std::uint64_t sent_ = 0;
};

inline void Pong::receive(Serve serve) {
  require_equal(serve.value, expected_++, "ping");
  serve.from.send(Return{serve.value + 1});
}

inline Result ping_pong(const Request& request) {
  System system(request.cores);
  const auto began = Clock::now();
  const auto pong = system->spawn<Pong>();
  system->spawn<Ping>(pong, system.observer(), request.n);
  const std::uint64_t rounds = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(rounds, request.n, "round trips");
  return Result(2 * request.n, elapsed);
}

struct Token {
  std::uint64_t hops_left = 0;
};

class RingMember;

struct Join {
  Address<RingMember> next;
};

class RingMember {
 public:
  RingMember(Port<Sum> observer, std::uint64_t index) : observer_(observer), index_(index) {}

  void receive(Join join) { next_ = join.next; }
  void receive(Token token) {
    if (token.hops_left == 0) {
      observer_.send(Sum{index_});
    } else {
      next_.send(Token{token.hops_left - 1});
    }
  }

 private:
  Port<Sum> observer_;
  std::uint64_t index_;
  Address<RingMember> next_;
};

inline Result thread_ring(const Request& request) {
  constexpr std::uint64_t kActors = 100;
  System system(request.cores);
  std::vector<Address<RingMember>> ring;
  for (std::uint64_t i = 0; i < kActors; ++i) {
    ring.push_back(system->spawn<RingMember>(system.observer(), i));
  }
  for (std::uint64_t i = 0; i < kActors; ++i) ring[i].send(Join{ring[(i + 1) % kActors]});
  system->wait_for_idle();
  const auto began = Clock::now();
  ring[0].send(Token{request.n});
  const std::uint64_t last = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(last, request.n % kActors, "actor that got the last hop");
  return Result(request.n, elapsed);
}

inline Result fork_join(const Request& request) {
  constexpr std::uint64_t kWorkers = 8;
  const std::uint64_t used = std::min(kWorkers, request.n);
  System system(request.cores, used);
  std::vector<Address<Adder>> workers;
  for (std::uint64_t i = 0; i < used; ++i) {
    workers.push_back(system->spawn_with<Adder>(on_core(request.cores, i), system.observer(),
                                                share(request.n, kWorkers, i)));
  }
  Clock::time_point began;
  system->spawn([&workers, n = request.n, &began] {
    began = Clock::now();
    for (std::uint64_t i = 0; i < n; ++i) workers[i % kWorkers].send(Number{i});
  });
  const std::uint64_t sum = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed);
}

/// kProducers actors that send to one, each by `send(to, number)`.
template <class Send>
Result run_many_to_one(const Request& request, const SpawnOptions& consumer_options, Send send) {
  System system(request.cores);
  const auto consumer = system->spawn_with<Adder>(consumer_options, system.observer(), request.n);
  const auto began = Clock::now();
  for (std::uint64_t first = 0; first < kProducers; ++first) {
    system->spawn_with(on_core(request.cores, first), [consumer, first, n = request.n, send] {
      for (std::uint64_t i = first; i < n; i += kProducers) send(consumer, Number{i});
    });
  }
  const std::uint64_t sum = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(sum, sum_below(request.n), "sum of the messages");
  return Result(request.n, elapsed).extra("moves", static_cast<double>(system->stats().moved));
}

inline Result many_to_one(const Request& request) {
  return run_many_to_one(request, {}, [](Address<Adder> to, Number number) { to.send(number); });
}

/// A producer that finds the mailbox full waits until its message is taken.
inline Result bounded_many_to_one(const Request& request) {
  return run_many_to_one(request, SpawnOptions{.mailbox_bound = 1024},
                         [](Address<Adder> to, Number number) {
                           require(to.send_or_wait(number) == ::bulkhead::Delivery::kQueued,
                                   "the consumer takes the message");
                         });
}

struct Question {
  std::uint64_t value = 0;
};

class Incrementer {
 public:
  std::uint64_t receive(Question question) { return question.value + 1; }
};

inline Result ask(const Request& request) {
  System system(request.cores);
  const auto server = system->spawn<Incrementer>();
  Clock::duration elapsed{};
  system->spawn([server, n = request.n, observer = system.observer(), &elapsed] {
    const auto began = Clock::now();
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto reply = server.ask(Question{i});
      require(reply.has_value(), "an ask is answered");
      require_equal(*reply, i + 1, "reply");
    }
    elapsed = Clock::now() - began;
    observer.send(Sum{n});
  });
  require_equal(system.total(), request.n, "replies");
  return Result(request.n, elapsed);
}

/// Two actors that give way to each other.
inline Result yield(const Request& request) {
  System system(request.cores, 2);
  const auto began = Clock::now();
  for (std::uint64_t self = 0; self < 2; ++self) {
    system->spawn([observer = system.observer(), turns = share(request.n, 2, self)] {
      std::uint64_t taken = 0;
      for (; taken < turns; ++taken) this_actor::yield();
      observer.send(Sum{taken});
    });
  }
  const std::uint64_t turns = system.total();
  const auto elapsed = Clock::now() - began;
  require_equal(turns, request.n, "turns taken");
  return Result(request.n, elapsed);
}

}  // namespace bench
