// D3: an actor whose core has gone on without it comes home, and goes on as if nothing had been.
#include <gtest/gtest.h>
#include <pthread.h>
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/net.hpp>

#include <array>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/live.hpp"
#include "support/log.hpp"
#include "support/process.hpp"
#include "support/stuck.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
namespace net = bulkhead::net;
using bulkhead::Reply;
using support::Echo;
using support::Event;
using support::eventually;
using namespace std::chrono_literals;

class StuckHome : public support::Stuck {};
ON_ONE_AND_SEVERAL_CORES(StuckHome);

// D3
TEST_P(StuckHome, whatever_the_first_call_is) {
  support::Log<int> sent;
  struct Sink {
    support::Log<int>* log;
    void receive(int value) { log->add(value); }
    void receive(std::string text) { log->add(static_cast<int>(text.size())); }
  };
  const auto sink = runtime.spawn_with<Sink>(on_core(0), Sink{&sent});
  int calls = 0;
  in_actor([&] {
    const bulkhead::Pid me = this_actor::pid();
    sink.send(1);
    be_left();
    sink.send(2);
    be_left();
    sink.send(std::string("abc"));
    be_left();
    EXPECT_EQ(echo.ask(3), 4);
    be_left();
    EXPECT_EQ(this_actor::pid(), me);
    be_left();
    EXPECT_TRUE(bulkhead::in_actor());
    be_left();
    this_actor::sleep_for(1ms);
    be_left();
    this_actor::yield();
    be_left();
    const auto child = bulkhead::spawn<Echo>();
    EXPECT_EQ(child.ask(5), 6);
    be_left();
    const auto timer = bulkhead::send_after(1h, sink, 99);
    be_left();
    EXPECT_TRUE(bulkhead::cancel(timer));
    be_left();
    EXPECT_EQ(bulkhead::stop(child.pid()), bulkhead::Delivery::kQueued);
    be_left();
    EXPECT_LT(this_actor::core(), cores());
    be_left();
    EXPECT_THROW(runtime.shutdown(1s), std::logic_error);
    ++calls;
    be_left();  // and returns
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(sent.entries(), (std::vector<int>{1, 2, 3}));
  EXPECT_GE(runtime.stats().handed_over, 14u);
}

// D3: debuggers and top tell the thread of a stuck handler from that of its core.
TEST_P(StuckHome, the_name_of_a_thread_says_what_it_is_used_for) {
  const auto name = [] {
    std::array<char, 32> text{};
    EXPECT_EQ(pthread_getname_np(pthread_self(), text.data(), text.size()), 0);
    return std::string(text.data());
  };
  const auto is_cores = [&name] {  // unless it is left between the two
    const std::string core = "bulkhead-" + std::to_string(this_actor::core());
    return name() == core;
  };
  for (int i = 0; i < 3; ++i) {  // the threads are used again
    in_actor([&] {
      EXPECT_TRUE(eventually(is_cores));
      be_left();
      EXPECT_EQ(name(), "bulkhead-away");
      EXPECT_TRUE(eventually(is_cores));
    });
  }
  EXPECT_TRUE(eventually([] { return support::threads_named("bulkhead-spare") > 0; }));
  EXPECT_TRUE(eventually([] { return support::threads_named("bulkhead-away") == 0; }));
}

// D3: its own messages wait for it, in order.
TEST_P(StuckHome, its_mailbox_waits_for_it) {
  struct Slow {
    support::Stuck* test;
    support::Log<int>* log;
    void receive(int value) {
      if (value % 4 == 0) test->be_left();
      log->add(value);
    }
    void receive(std::string /*text*/) { this_actor::stop(); }
  };
  support::Log<int> log;
  const auto slow = runtime.spawn_with<Slow>(on_core(0), Slow{this, &log});
  std::vector<int> all;
  for (int i = 0; i < 12; ++i) {
    slow.send(i);
    all.push_back(i);
  }
  slow.send(std::string("end"));
  wait_for_idle();
  EXPECT_EQ(log.entries(), all);
  EXPECT_EQ(slow.send(1), bulkhead::Delivery::kGone);
  EXPECT_GE(runtime.stats().handed_over, 3u);
}

// D3: an exception that began before, or while it was away.
TEST_P(StuckHome, exceptions_come_along) {
  std::string seen;
  in_actor([&] {
    try {
      try {
        throw std::runtime_error("first");
      } catch (const std::runtime_error&) {
        be_left();
        try {
          throw std::runtime_error("second");
        } catch (const std::runtime_error& second) {
          EXPECT_EQ(echo.ask(1), 2);
          seen += second.what();
          be_left();
        }
        EXPECT_EQ(echo.ask(2), 3);
        throw;
      }
    } catch (const std::runtime_error& first) {
      seen += first.what();
    }
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
  EXPECT_EQ(seen, "secondfirst");
}

// D3
TEST_P(StuckHome, in_a_destructor_while_an_exception_is_thrown) {
  struct Guard {
    const support::Stuck* test;
    int* uncaught;
    ~Guard() {
      test->be_left();
      test->echo.send(1);
      *uncaught = std::uncaught_exceptions();
    }
  };
  int uncaught = 0;
  bool caught = false;
  in_actor([&] {
    try {
      const Guard guard{this, &uncaught};
      throw std::runtime_error("thrown");
    } catch (const std::runtime_error&) {
      be_left();
      caught = true;
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
  EXPECT_EQ(uncaught, 1);
  EXPECT_TRUE(caught);
}

// D3: by throwing, while it is away.
TEST_P(StuckHome, a_failure_ends_it) {
  struct Failing {
    const support::Stuck* test;
    void receive(support::Live /*message*/) {
      test->be_left();
      throw std::runtime_error("failed while away");
    }
  };
  const auto failing = runtime.spawn_with<Failing>(on_core(0), Failing{this});
  failing.send(support::Live(1));
  failing.send(support::Live(2));
  wait_for_idle();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths.entries()[0].message(), "failed while away");
  EXPECT_EQ(support::Live::alive(), 0);
  EXPECT_EQ(runtime.stats().dropped_for(bulkhead::DropCause::kHandlerFailed), 1u);
}

// D3: others ask it to stop meanwhile.
TEST_P(StuckHome, it_is_stopped_when_it_is_back) {
  struct Waiting {
    const support::Stuck* test;
    Event* held;
    void receive(int /*message*/) {
      held->set();
      test->be_left();
    }
  };
  Event held;
  const auto waiting = runtime.spawn_with<Waiting>(on_core(0), Waiting{this, &held});
  waiting.send(1);
  ASSERT_TRUE(held.wait());
  bulkhead::stop(waiting.pid());
  wait_for_idle();
  EXPECT_EQ(waiting.send(1), bulkhead::Delivery::kGone);
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths.entries()[0].kind(), bulkhead::Exit::Kind::kNormal);
}

// D3: who waits for its reply has it when it is back; between the beginning of a wait and the wait
// itself it can be left as well.
TEST_P(StuckHome, replies_and_waits) {
  struct Number {
    int value;
    using Answer = int;
  };
  struct Late {
    const support::Stuck* test;
    void receive(Number number, Reply<int> reply) {
      test->be_left();
      reply(number.value * 2);
      test->be_left();
    }
  };
  struct Question {
    const support::Stuck* test = nullptr;
    int value = 0;
    using Answer = int;
    Question(const support::Stuck* t, int v) : test(t), value(v) {}
    Question(Question&& other) noexcept : test(other.test), value(other.value) {
      if (test != nullptr) test->be_left();
    }
  };
  struct Answerer {
    int receive(Question question) {
      question.test = nullptr;
      return question.value + 1;
    }
  };
  const auto late = runtime.spawn_with<Late>(on_core(0), Late{this});
  EXPECT_EQ(late.ask(Number{4}, support::kDeadline), 8);
  const auto answerer = runtime.spawn_with<Answerer>(on_core(1));
  int answered = 0;
  in_actor([&] {
    EXPECT_EQ(late.ask(Number{5}, support::kDeadline), 10);
    EXPECT_EQ(answerer.ask(Question(this, 6), support::kDeadline), 7);
    ++answered;
  });
  EXPECT_EQ(answered, 1);
}

// D3: constructors, start, time-outs and destructors are handlers in this respect.
TEST_P(StuckHome, whichever_code_of_an_actor_is_stuck) {
  support::Log<std::string> log;
  struct Whole {
    support::Stuck* test;
    support::Log<std::string>* log;
    bool done = false;
    Whole(support::Stuck* t, support::Log<std::string>* l) : test(t), log(l) {
      stuck("constructed");
    }
    ~Whole() { stuck("destroyed"); }
    void started() { stuck("started"); }
    bulkhead::Timeout receive_timeout() {
      if (done) return bulkhead::kForever;
      stuck("asked");
      return 1ms;
    }
    void receive(bulkhead::ReceiveTimeout /*message*/) {
      stuck("timeout");
      done = true;
      this_actor::stop();
    }
    void stuck(const char* what) {
      test->be_left();
      test->echo.send(1);
      log->add(what);
    }
  };
  in_actor([&] { bulkhead::spawn<Whole>(this, &log); });
  EXPECT_EQ(log.entries(),
            (std::vector<std::string>{"constructed", "started", "asked", "timeout", "destroyed"}));
}

// D3
TEST_P(StuckHome, network_calls) {
  std::string heard;
  in_actor([&] {
    auto listener = net::Listener::listen(net::Endpoint::loopback(0));
    ASSERT_TRUE(listener.has_value());
    bulkhead::spawn([&, to = listener->local()] {
      be_left();
      auto stream = net::Stream::connect(to, 10s);
      ASSERT_TRUE(stream.has_value());
      be_left();
      EXPECT_TRUE(stream->write_all("hello", 10s).has_value());
      be_left();
    });
    be_left();
    auto stream = listener->accept(10s);
    ASSERT_TRUE(stream.has_value());
    for (bool open = true; open;) {
      std::array<std::byte, 3> buffer{};
      be_left();
      const auto count = stream->read_some(buffer, 10s);
      open = count.has_value() && *count > 0;
      for (std::size_t i = 0; open && i < *count; ++i) heard += static_cast<char>(buffer[i]);
    }
    be_left();
  });
  EXPECT_EQ(heard, "hello");
}

// D3: while the runtime shuts down.
TEST_P(StuckHome, it_is_ended_with_its_runtime) {
  struct Held {
    Event* held;
    const Event* go;
    void receive(int /*message*/) {
      held->set();
      go->wait();
    }
  };
  Event held;
  Event go;
  const auto one = runtime.spawn_with<Held>(on_core(0), Held{&held, &go});
  one.send(1);
  one.send(2);
  ASSERT_TRUE(held.wait());
  ASSERT_TRUE(eventually([&] { return runtime.stats().away == 1; }));
  std::thread later([&] {
    EXPECT_TRUE(eventually([&] { return runtime.stats().actors() == 1; }));  // the echo has ended
    go.set();
  });
  runtime.shutdown(1ms);
  later.join();
  ASSERT_EQ(deaths.size(), 2u);  // the echo, too
  EXPECT_EQ(runtime.stats().actors(), 0u);
}

}  // namespace
