// Litmus tests: small programs of which it is known what C++ allows. Each compares the set of
// outcomes that the explorer reaches with the set that there is.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "explorer.hpp"

namespace bulkhead::model {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

using Atomic = ModelSync::atomic<int>;

// Two locations, and a register for each result.
struct Bench {
  Atomic x{0};
  Atomic y{0};
  std::array<int, 6> r{};
};

using Code = std::function<void(Bench&)>;

struct Litmus {
  std::vector<Code> threads;
  unsigned registers = 2;
  bool show_memory = false;  // the last values of x and y belong to the outcome
};

std::set<std::string> outcomes(const Litmus& litmus, const Options& options) {
  std::set<std::string> seen;
  Result result = explore(options, [&](Run& run) {
    auto bench = std::make_shared<Bench>();
    run.name("x", bench->x);
    run.name("y", bench->y);
    for (const Code& code : litmus.threads) run.thread("t", [bench, &code] { code(*bench); });
    run.finally([bench, &litmus, &seen] {
      std::string outcome;
      for (unsigned i = 0; i < litmus.registers; ++i) outcome += std::to_string(bench->r[i]);
      if (litmus.show_memory) {
        outcome += ' ' + std::to_string(bench->x.load()) + std::to_string(bench->y.load());
      }
      seen.insert(outcome);
    });
  });
  EXPECT_TRUE(result.ok()) << result.report();
  return seen;
}

std::set<std::string> weak(const Litmus& litmus) {
  return outcomes(litmus, {.preemption_bound = kUnbounded, .weak = true});
}

std::set<std::string> sequential(const Litmus& litmus) {
  return outcomes(litmus, {.preemption_bound = kUnbounded});
}

using Outcomes = std::set<std::string>;

// --- store buffering ---

Litmus store_buffering(
    std::memory_order store, std::memory_order load, std::function<void()> between = [] {}) {
  return {.threads = {[=](Bench& b) {
                        b.x.store(1, store);
                        between();
                        b.r[0] = b.y.load(load);
                      },
                      [=](Bench& b) {
                        b.y.store(1, store);
                        between();
                        b.r[1] = b.x.load(load);
                      }}};
}

TEST(StoreBuffering, both_may_miss_the_other_when_relaxed_or_released_and_acquired) {
  const Outcomes all{"00", "01", "10", "11"};
  EXPECT_EQ(weak(store_buffering(kRelaxed, kRelaxed)), all);
  EXPECT_EQ(weak(store_buffering(kRelease, kAcquire)), all);
  EXPECT_EQ(weak(store_buffering(kSeqCst, kAcquire)), all);
  EXPECT_EQ(weak(store_buffering(kRelease, kSeqCst)), all);
}

TEST(StoreBuffering, one_sees_the_other_when_all_is_sequentially_consistent) {
  const Outcomes consistent{"01", "10", "11"};
  EXPECT_EQ(weak(store_buffering(kSeqCst, kSeqCst)), consistent);
  EXPECT_EQ(sequential(store_buffering(kRelaxed, kRelaxed)), consistent);
}

TEST(StoreBuffering, fences_forbid_it_if_both_sides_have_a_sequentially_consistent_one) {
  const auto fence = [](std::memory_order order) { return [=] { ModelSync::fence(order); }; };
  EXPECT_EQ(weak(store_buffering(kRelaxed, kRelaxed, fence(kSeqCst))),
            (Outcomes{"01", "10", "11"}));
  EXPECT_EQ(weak(store_buffering(kRelaxed, kRelaxed, fence(kAcqRel))).count("00"), 1u);
  Litmus one_fence{.threads = {[](Bench& b) {
                                 b.x.store(1, kRelaxed);
                                 ModelSync::fence(kSeqCst);
                                 b.r[0] = b.y.load(kRelaxed);
                               },
                               [](Bench& b) {
                                 b.y.store(1, kRelaxed);
                                 b.r[1] = b.x.load(kRelaxed);
                               }}};
  EXPECT_EQ(weak(one_fence).count("00"), 1u);
}

TEST(StoreBuffering, a_fence_on_one_side_and_consistent_operations_on_the_other_forbid_it) {
  Litmus mixed{.threads = {[](Bench& b) {
                             b.x.store(1, kRelaxed);
                             ModelSync::fence(kSeqCst);
                             b.r[0] = b.y.load(kRelaxed);
                           },
                           [](Bench& b) {
                             b.y.store(1, kSeqCst);
                             b.r[1] = b.x.load(kSeqCst);
                           }}};
  EXPECT_EQ(weak(mixed), (Outcomes{"01", "10", "11"}));
}

TEST(StoreBuffering, read_modify_writes_of_one_location_forbid_it) {
  // A common trick in place of a fence, and right: both modify z, so one sees the other.
  Litmus trick{.threads = {[](Bench& b) {
                             b.x.store(1, kRelaxed);
                             b.y.fetch_add(1, kAcqRel);
                             b.r[0] = b.x.load(kRelaxed);
                           },
                           [](Bench& b) {
                             b.r[1] = b.y.fetch_add(1, kAcqRel);
                             b.r[2] = b.x.load(kRelaxed);
                           }},
               .registers = 3};
  EXPECT_EQ(weak(trick).count("110"), 0u);
  EXPECT_EQ(weak(trick).count("100"), 1u);
}

// --- message passing ---

Litmus message_passing(std::memory_order store, std::memory_order load) {
  return {.threads = {[=](Bench& b) {
                        b.x.store(1, kRelaxed);
                        b.y.store(1, store);
                      },
                      [=](Bench& b) {
                        b.r[0] = b.y.load(load);
                        b.r[1] = b.x.load(kRelaxed);
                      }}};
}

TEST(MessagePassing, needs_both_a_release_and_an_acquire) {
  EXPECT_EQ(weak(message_passing(kRelease, kAcquire)), (Outcomes{"00", "01", "11"}));
  EXPECT_EQ(weak(message_passing(kSeqCst, kSeqCst)), (Outcomes{"00", "01", "11"}));
  EXPECT_EQ(weak(message_passing(kRelaxed, kAcquire)).count("10"), 1u);
  EXPECT_EQ(weak(message_passing(kRelease, kRelaxed)).count("10"), 1u);
  EXPECT_EQ(sequential(message_passing(kRelaxed, kRelaxed)).count("10"), 0u);
}

TEST(MessagePassing, fails_by_one_stale_load) {
  Options options{.preemption_bound = kUnbounded, .weak = true, .stale_bound = 0};
  EXPECT_EQ(outcomes(message_passing(kRelaxed, kRelaxed), options).count("10"), 0u);
  options.stale_bound = 1;
  EXPECT_EQ(outcomes(message_passing(kRelaxed, kRelaxed), options).count("10"), 1u);
}

TEST(MessagePassing, works_through_fences) {
  const auto program = [](std::memory_order left, std::memory_order right) {
    return Litmus{.threads = {[=](Bench& b) {
                                b.x.store(1, kRelaxed);
                                ModelSync::fence(left);
                                b.y.store(1, kRelaxed);
                              },
                              [=](Bench& b) {
                                b.r[0] = b.y.load(kRelaxed);
                                ModelSync::fence(right);
                                b.r[1] = b.x.load(kRelaxed);
                              }}};
  };
  EXPECT_EQ(weak(program(kRelease, kAcquire)).count("10"), 0u);
  EXPECT_EQ(weak(program(kSeqCst, kSeqCst)).count("10"), 0u);
  EXPECT_EQ(weak(program(kAcquire, kAcquire)).count("10"), 1u);
  EXPECT_EQ(weak(program(kRelease, kRelease)).count("10"), 1u);
}

TEST(MessagePassing, goes_on_through_a_third_thread) {
  Litmus chain{.threads = {[](Bench& b) {
                             b.x.store(1, kRelaxed);
                             b.y.store(1, kRelease);
                           },
                           [](Bench& b) {
                             b.r[0] = b.y.load(kAcquire);
                             if (b.r[0] == 1) b.y.store(2, kRelease);
                           },
                           [](Bench& b) {
                             b.r[1] = b.y.load(kAcquire);
                             b.r[2] = b.x.load(kRelaxed);
                           }},
               .registers = 3};
  const Outcomes seen = weak(chain);
  EXPECT_EQ(seen.count("120"), 0u);
  EXPECT_EQ(seen.count("110"), 0u);
  EXPECT_EQ(seen.count("121"), 1u);
}

// --- release sequences ---

Litmus release_sequence(Code middle) {
  return {.threads = {[](Bench& b) {
                        b.x.store(1, kRelaxed);
                        b.y.store(1, kRelease);
                      },
                      std::move(middle),
                      [](Bench& b) {
                        b.r[0] = b.y.load(kAcquire);
                        b.r[1] = b.x.load(kRelaxed);
                      }}};
}

TEST(ReleaseSequence, goes_on_through_read_modify_writes_of_any_order) {
  const Outcomes seen = weak(release_sequence([](Bench& b) {
    int one = 1;
    b.y.compare_exchange_strong(one, 2, kRelaxed);
  }));
  EXPECT_EQ(seen.count("20"), 0u);
  EXPECT_EQ(seen.count("21"), 1u);
}

TEST(ReleaseSequence, ends_at_a_plain_store_even_of_the_same_thread) {
  EXPECT_EQ(weak(release_sequence([](Bench& b) {
              if (b.y.load(kRelaxed) == 1) b.y.store(2, kRelaxed);
            })).count("20"),
            1u);
  Litmus same_thread{.threads = {[](Bench& b) {
                                   b.x.store(1, kRelaxed);
                                   b.y.store(1, kRelease);
                                   b.y.store(2, kRelaxed);
                                 },
                                 [](Bench& b) {
                                   b.r[0] = b.y.load(kAcquire);
                                   b.r[1] = b.x.load(kRelaxed);
                                 }}};
  EXPECT_EQ(weak(same_thread).count("20"), 1u);
}

// --- coherence ---

TEST(Coherence, a_thread_never_reads_backwards) {
  Litmus reads{.threads = {[](Bench& b) {
                             b.x.store(1, kRelaxed);
                             b.x.store(2, kRelaxed);
                           },
                           [](Bench& b) {
                             b.r[0] = b.x.load(kRelaxed);
                             b.r[1] = b.x.load(kRelaxed);
                           }}};
  EXPECT_EQ(weak(reads), (Outcomes{"00", "01", "02", "11", "12", "22"}));
}

TEST(Coherence, two_readers_agree_on_the_order_of_two_writers) {
  Litmus four{.threads = {[](Bench& b) { b.x.store(1, kRelaxed); },
                          [](Bench& b) { b.x.store(2, kRelaxed); },
                          [](Bench& b) {
                            b.r[0] = b.x.load(kRelaxed);
                            b.r[1] = b.x.load(kRelaxed);
                          },
                          [](Bench& b) {
                            b.r[2] = b.x.load(kRelaxed);
                            b.r[3] = b.x.load(kRelaxed);
                          }},
              .registers = 4};
  const Outcomes seen = weak(four);
  EXPECT_EQ(seen.count("1221"), 0u);
  EXPECT_EQ(seen.count("2112"), 0u);
  EXPECT_EQ(seen.count("1212"), 1u);
  EXPECT_EQ(seen.count("2121"), 1u);
}

TEST(Coherence, stores_of_two_locations_may_be_ordered_against_each_other) {
  const auto program = [](std::memory_order order) {
    return Litmus{.threads = {[=](Bench& b) {
                                b.x.store(1, order);
                                b.y.store(2, order);
                              },
                              [=](Bench& b) {
                                b.y.store(1, order);
                                b.x.store(2, order);
                              }},
                  .registers = 0,
                  .show_memory = true};
  };
  EXPECT_EQ(weak(program(kRelaxed)).count(" 11"), 1u);
  EXPECT_EQ(weak(program(kRelease)).count(" 11"), 1u);
  EXPECT_EQ(weak(program(kSeqCst)).count(" 11"), 0u);
  EXPECT_EQ(sequential(program(kRelaxed)).count(" 11"), 0u);
}

// --- independent reads of independent writes ---

Litmus independent_reads(std::memory_order store, std::memory_order load) {
  return {
      .threads = {[=](Bench& b) { b.x.store(1, store); }, [=](Bench& b) { b.y.store(1, store); },
                  [=](Bench& b) {
                    b.r[0] = b.x.load(load);
                    b.r[1] = b.y.load(load);
                  },
                  [=](Bench& b) {
                    b.r[2] = b.y.load(load);
                    b.r[3] = b.x.load(load);
                  }},
      .registers = 4};
}

TEST(IndependentReads, may_disagree_unless_all_is_sequentially_consistent) {
  EXPECT_EQ(weak(independent_reads(kRelease, kAcquire)).count("1010"), 1u);
  EXPECT_EQ(weak(independent_reads(kSeqCst, kAcquire)).count("1010"), 1u);
  EXPECT_EQ(weak(independent_reads(kSeqCst, kSeqCst)).count("1010"), 0u);
  EXPECT_EQ(weak(independent_reads(kSeqCst, kSeqCst)).count("1110"), 1u);
}

// --- read-modify-writes ---

TEST(ReadModifyWrite, no_increment_is_lost) {
  const Code twice = [](Bench& b) {
    b.x.fetch_add(1, kRelaxed);
    b.x.fetch_add(1, kRelaxed);
  };
  Litmus adds{.threads = {twice, twice}, .registers = 0, .show_memory = true};
  EXPECT_EQ(weak(adds), (Outcomes{" 40"}));
  const Code torn = [](Bench& b) { b.x.store(b.x.load(kRelaxed) + 1, kRelaxed); };
  Litmus lost{.threads = {torn, torn}, .registers = 0, .show_memory = true};
  EXPECT_EQ(weak(lost), (Outcomes{" 10", " 20"}));
  EXPECT_EQ(sequential(lost), (Outcomes{" 10", " 20"}));
}

TEST(ReadModifyWrite, one_compare_and_swap_of_a_value_succeeds) {
  const auto attempt = [](unsigned i) {
    return [i](Bench& b) {
      int expected = 0;
      b.r[i] = b.x.compare_exchange_strong(expected, static_cast<int>(i) + 1, kRelaxed) ? 1 : 0;
    };
  };
  Litmus race{.threads = {attempt(0), attempt(1), attempt(2)}, .registers = 3};
  EXPECT_EQ(weak(race), (Outcomes{"001", "010", "100"}));
}

TEST(ReadModifyWrite, a_failed_compare_and_swap_may_read_a_stale_value) {
  Litmus stale{.threads = {[](Bench& b) {
                             b.x.store(1, kRelaxed);
                             b.y.store(1, kRelaxed);
                           },
                           [](Bench& b) {
                             b.r[0] = b.y.load(kRelaxed);
                             int expected = 7;
                             b.x.compare_exchange_strong(expected, 8, kRelaxed);
                             b.r[1] = expected;
                           }}};
  EXPECT_EQ(weak(stale), (Outcomes{"00", "01", "10", "11"}));
}

TEST(ReadModifyWrite, a_weak_swap_may_fail_for_no_reason) {
  Litmus swap{.threads = {[](Bench& b) {
                int zero = 0;
                b.r[0] = b.x.compare_exchange_weak(zero, 1) ? 1 : 0;
                b.r[1] = zero;
              }}};
  EXPECT_EQ(outcomes(swap, {}), (Outcomes{"10"}));
  EXPECT_EQ(outcomes(swap, {.spurious = 1}), (Outcomes{"00", "10"}));
}

}  // namespace
}  // namespace bulkhead::model
