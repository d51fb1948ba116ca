// C7, C8: cancellation scopes: children do not outlive the frame, in whatever way it is left; a
// failure cancels the others and reaches the owner.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/crashes.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::CancellationScope;
using bulkhead::kForever;
using support::eventually;
using namespace std::chrono_literals;

/// Counts the frames of children that are there.
class Frame {
 public:
  explicit Frame(std::atomic<int>& count) : count_(count) { ++count_; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { --count_; }

 private:
  std::atomic<int>& count_;
};

class CancellationScopes : public support::Running {
 protected:
  /// Runs `body` in an actor, to its end.
  template <class Body>
  void in_actor(Body body) {
    std::atomic<bool> done{false};
    runtime.spawn([&] {
      body();
      done = true;
    });
    wait_for_idle();
    EXPECT_TRUE(done);
  }
};
ON_ONE_AND_SEVERAL_CORES(CancellationScopes);

TEST_P(CancellationScopes, who_leaves_one_waits_for_its_children) {
  in_actor([&] {
    std::vector<int> done(20, 0);
    {
      CancellationScope scope;
      for (std::size_t i = 0; i < done.size(); ++i) {
        scope.spawn_with(on_core(i), [&done, i] {
          this_actor::sleep_for(std::chrono::milliseconds(i % 5));
          done[i] = 1;
        });
      }
    }
    EXPECT_EQ(done, std::vector<int>(20, 1));
  });
}

TEST_P(CancellationScopes, wait_waits_for_the_children_and_can_be_repeated) {
  in_actor([&] {
    CancellationScope scope;
    scope.wait();
    int done = 0;
    scope.spawn_with(on_core(1), [&] { done = 1; });
    scope.wait();
    EXPECT_EQ(done, 1);
    scope.spawn_with(on_core(1), [&] { done = 2; });
    scope.wait();
    EXPECT_EQ(done, 2);
    EXPECT_FALSE(scope.cancelled());
  });
}

TEST_P(CancellationScopes, cancel_ends_the_children_and_runs_their_destructors) {
  std::atomic<int> frames{0};
  in_actor([&] {
    CancellationScope scope;
    for (std::size_t i = 0; i < 20; ++i) {
      scope.spawn_with(on_core(i), [&] {
        const Frame frame(frames);
        this_actor::sleep_for(kForever);
      });
    }
    while (frames < 20) this_actor::sleep_for(1ms);
    EXPECT_FALSE(scope.wait_for(5ms));
    EXPECT_EQ(frames, 20);
    scope.cancel();
    EXPECT_TRUE(scope.cancelled());
    scope.wait();
    EXPECT_EQ(frames, 0);
  });
}

TEST_P(CancellationScopes, children_that_have_not_begun_never_do) {
  std::atomic<int> begun{0};
  in_actor([&] {
    CancellationScope scope;
    scope.cancel();
    for (std::size_t i = 0; i < 10; ++i) scope.spawn_with(on_core(i), [&] { ++begun; });
    scope.wait();
  });
  EXPECT_EQ(begun, 0);
}

TEST_P(CancellationScopes, a_failure_cancels_the_others_and_is_thrown_to_who_waits) {
  std::atomic<int> frames{0};
  in_actor([&] {
    CancellationScope scope;
    for (std::size_t i = 0; i < 10; ++i) {
      scope.spawn_with(on_core(i), [&] {
        const Frame frame(frames);
        this_actor::sleep_for(kForever);
      });
    }
    while (frames < 10) this_actor::sleep_for(1ms);
    scope.spawn_with(on_core(3), [] { throw std::out_of_range("the child's"); });
    try {
      scope.wait();
      ADD_FAILURE() << "it was not told";
    } catch (const std::out_of_range& error) {
      EXPECT_EQ(std::string(error.what()), "the child's");
    }
    EXPECT_EQ(frames, 0);
    EXPECT_TRUE(scope.cancelled());
    scope.wait();  // it is told once
  });
  EXPECT_EQ(runtime.stats().actors_failed, 1u);
}

TEST_P(CancellationScopes, who_leaves_by_an_exception_cancels_the_children) {
  std::atomic<int> frames{0};
  in_actor([&] {
    try {
      CancellationScope scope;
      for (std::size_t i = 0; i < 10; ++i) {
        scope.spawn_with(on_core(i), [&] {
          const Frame frame(frames);
          this_actor::sleep_for(kForever);
        });
      }
      while (frames < 10) this_actor::sleep_for(1ms);
      throw std::runtime_error("the owner's");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(frames, 0);
    }
  });
}

struct FailingErrand {
  void operator()() const { throw std::runtime_error("no such shop"); }
};

TEST_P(CancellationScopes, a_child_is_named_after_its_function) {
  const auto crashes = std::make_shared<support::Crashes>();
  bulkhead::Config with_log = config();
  with_log.log = support::told_to(crashes);
  bulkhead::Runtime own(with_log);
  own.start();
  own.spawn([] {
    CancellationScope scope;
    scope.spawn(FailingErrand{});
  });
  EXPECT_TRUE(own.wait_for_end(support::kDeadline));
  own.shutdown();
  ASSERT_EQ(crashes->size(), 1u);
  const std::string type(crashes->reports()[0].type);
  EXPECT_NE(type.find("FailingErrand"), std::string::npos) << type;
  EXPECT_EQ(type.find("ScopeChild"), std::string::npos) << type;
}

TEST_P(CancellationScopes, children_of_an_owner_that_is_ended_end_before_it_does) {
  std::atomic<int> frames{0};
  std::atomic<int> outlived{0};
  std::atomic<int> owners{0};
  struct Owned {
    std::atomic<int> children{0};
    std::atomic<int>& outlived;
    ~Owned() {
      if (children != 0) ++outlived;
    }
  };
  for (std::size_t i = 0; i < 5; ++i) {
    runtime.spawn_with(on_core(i), [&, i] {
      Owned owned{.outlived = outlived};
      CancellationScope scope;
      for (std::size_t k = 0; k < 5; ++k) {
        scope.spawn_with(on_core(i + k), [&] {
          const Frame mine(owned.children);
          const Frame frame(frames);
          this_actor::sleep_for(kForever);
        });
      }
      ++owners;
      if (i % 2 == 0) scope.wait();  // the others wait where they leave the scope
    });
  }
  ASSERT_TRUE(eventually([&] { return frames == 25 && owners == 5; }));
  static_cast<void>(support::stderr_of([&] { runtime.shutdown(1ms); }));
  EXPECT_EQ(frames, 0);
  EXPECT_EQ(outlived, 0);
}

TEST_P(CancellationScopes, children_spawn_siblings_and_scopes_of_their_own) {
  std::atomic<int> done{0};
  in_actor([&] {
    CancellationScope scope;
    for (std::size_t i = 0; i < 5; ++i) {
      scope.spawn_with(on_core(i), [&, i] {
        scope.spawn_with(on_core(i + 1), [&] { ++done; });
        CancellationScope inner;
        for (std::size_t k = 0; k < 5; ++k) inner.spawn_with(on_core(k), [&] { ++done; });
        inner.wait();
      });
    }
    scope.wait();
    EXPECT_EQ(done, 30);
  });
}

TEST_P(CancellationScopes, a_cancelled_child_that_waits_for_a_lock_leaves_the_line) {
  bulkhead::Mutex mutex;
  std::atomic<int> waiting{0};
  in_actor([&] {
    auto guard = mutex.lock();
    CancellationScope scope;
    for (std::size_t i = 0; i < 10; ++i) {
      scope.spawn_with(on_core(i), [&] {
        ++waiting;
        auto mine = mutex.lock();
        ADD_FAILURE() << "nobody lets go";
      });
    }
    while (waiting < 10) this_actor::sleep_for(1ms);
    scope.cancel();
    scope.wait();
  });
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(CancellationScopes, a_child_does_not_wait_for_its_own_scope) {
  in_actor([&] {
    CancellationScope scope;
    std::atomic<int> refused{0};
    for (std::size_t i = 0; i < 3; ++i) {
      scope.spawn_with(on_core(i), [&] {
        EXPECT_THROW(scope.wait(), std::logic_error);
        ++refused;
      });
    }
    scope.wait();
    EXPECT_EQ(refused, 3);
  });
}

TEST_P(CancellationScopes, threads_outside_have_none) {
  EXPECT_THROW(CancellationScope(), std::logic_error);
}

}  // namespace
