// The handles of channel_ends.hpp under every interleaving, with weak memory.
//
//   ends_once   E2: handles are dropped at the same time: the channel is freed once, by who sees
//       all that both sides have done
//
// A broken copy follows: the same code with the memory order too weak.
#include <gtest/gtest.h>

#include <string_view>

#include "explorer.hpp"
#include "wait/channel_ends.hpp"

namespace bulkhead::wait {
namespace {

using model::ModelSync;

constexpr auto kRelaxed = std::memory_order_relaxed;

struct RelaxedSync : ModelSync {
  template <class T>
  struct atomic : ModelSync::atomic<T> {
    using ModelSync::atomic<T>::atomic;
    T fetch_sub(T by, std::memory_order /*order*/) {
      return ModelSync::atomic<T>::fetch_sub(by, kRelaxed);
    }
  };
};

template <class Sync>
struct Handles {
  ChannelEnds<Sync> ends;
  ModelSync::plain<int> senders_side{0};
  ModelSync::plain<int> receivers_side{0};
};

template <class Sync>
model::Result ends_once(const model::Options& options) {
  return model::explore(options, [](model::Run& run) {
    auto* h = model::make_named<Handles<Sync>>("channel");
    h->ends.add_sender();
    const auto drop_sender = [h] {
      if (!h->ends.drop_sender()) return;
      h->senders_side.write(1);
      if (h->ends.leave()) model::free(h);
    };
    run.thread("sender", drop_sender);
    run.thread("another", drop_sender);
    run.thread("receiver", [h] {
      if (!h->ends.drop_receiver()) return;
      h->receivers_side.write(1);
      if (h->ends.leave()) model::free(h);
    });
  });
}

constexpr model::Options kFull{.preemption_bound = model::kUnbounded, .weak = true};

TEST(ChannelEndsModel, a_channel_is_freed_once_when_both_sides_have_left) {
  const auto result = ends_once<ModelSync>(kFull);
  EXPECT_TRUE(result.ok()) << result.report();
}

TEST(ChannelEndsModel, a_channel_that_is_freed_too_early_is_found) {
  const auto result = ends_once<RelaxedSync>(kFull);
  EXPECT_TRUE(result.found("data race")) << result.report();
}

}  // namespace
}  // namespace bulkhead::wait
