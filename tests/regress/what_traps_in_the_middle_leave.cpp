// B3: a trap in the middle of something that others wait for, or that holds memory of its own,
// leaves nothing behind, and nobody waiting. (A heap was left by who trapped while its answer
// crossed; an asker whose wait had been claimed waited for ever; a parcel in an offer did not
// arrive; and a message whose links the handler had damaged was destroyed, and the process ended.)
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string>
#include <utility>

#include "support/balance.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/trap_cases.hpp"

namespace {

using bulkhead::AskError;
using bulkhead::Delivery;
using bulkhead::Mailbox;
using bulkhead::Parcel;
using bulkhead::SpawnOptions;
using namespace std::chrono_literals;

enum class At { kNowhere, kCross, kLetGo, kDestructor };

/// Traps at a certain point of its way over a wall.
class Trap {
 public:
  Trap() = default;
  explicit Trap(At at) : at_(at), text_(100, 'x') {}
  Trap(Trap&& other) noexcept
      : at_(std::exchange(other.at_, At::kNowhere)), text_(std::move(other.text_)) {}
  Trap& operator=(Trap&&) = delete;
  ~Trap() { trap_at(At::kDestructor); }

 private:
  friend struct bulkhead::Crossing<Trap>;
  void trap_at(At at) const {
    if (at_ == at) support::touch_null();
  }

  At at_ = At::kNowhere;
  std::string text_;
};

}  // namespace

template <>
struct bulkhead::Crossing<Trap> {
  static Trap cross(const Trap& from) {
    from.trap_at(At::kCross);
    Trap to(from.at_ == At::kDestructor ? At::kNowhere : from.at_);
    to.text_ = bulkhead::crossed(from.text_);
    return to;
  }
  static void let_go(Trap& from) noexcept { from.trap_at(At::kLetGo); }
};

namespace {

struct Ask {
  using Answer = Trap;
  At at;
};
struct Image {
  Parcel<std::byte> pixels;
};
struct Offered {
  Trap trap;
};
struct Wait {};
struct Damaged {
  std::list<std::string> lines;
};

struct Answerer {
  Trap receive(Ask message) { return Trap(message.at); }
};
struct Taker {
  Taker(support::Event* event, std::size_t* into) : go(event), taken(into) {}
  void receive(Image message) { *taken = message.pixels.size(); }
  void receive(Offered /*message*/) { *taken = 1; }
  void receive(Wait /*message*/) { static_cast<void>(go->wait()); }
  support::Event* go;
  std::size_t* taken;
};
struct Damager {
  void receive(Damaged&& message) {
    std::memset(static_cast<void*>(&message.lines.front() - 1), 0x55, sizeof(std::string));
    std::memset(static_cast<void*>(&message.lines), 0x55, sizeof message.lines);
    support::touch_null();
  }
};

SpawnOptions isolated(SpawnOptions options = {}) {
  options.isolated.emplace();
  return options;
}

class WhatTrapsInTheMiddle : public support::Running {
 protected:
  ~WhatTrapsInTheMiddle() override {
    runtime.shutdown(5s);
    EXPECT_EQ(bulkhead::heaps_live(), 0u);
    EXPECT_EQ(bulkhead::heap_bytes_used(), 0u);
    support::expect_balanced(runtime.stats());
  }
  SpawnOptions full(SpawnOptions options) {
    options.mailbox_bound = 1;
    return options;
  }
};

TEST_P(WhatTrapsInTheMiddle, of_an_answer_ends_the_ask) {
  for (const At at : {At::kCross, At::kLetGo, At::kDestructor}) {
    const auto worker = runtime.spawn_with<Answerer>(isolated(on_core(1)));
    const auto answer = worker.ask(Ask{at}, 10s);
    ASSERT_FALSE(answer.has_value()) << static_cast<int>(at);
    EXPECT_EQ(answer.error(), AskError::kDied) << static_cast<int>(at);
  }
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors_trapped == 3; }));
}

TEST_P(WhatTrapsInTheMiddle, of_taking_an_offer_lets_its_sender_go) {
  support::Event start;
  for (const At at : {At::kCross, At::kLetGo}) {
    std::size_t taken = 0;
    const auto taker = runtime.spawn_with<Taker>(full(isolated(on_core(1))), &start, &taken);
    support::Log<Delivery> deliveries;
    runtime.spawn_with(on_core(0), [&] {
      static_cast<void>(taker.send(Wait{}));
      static_cast<void>(taker.send(Wait{}));  // full
      Offered offered{Trap(at)};
      deliveries.add(taker.send_or_wait(offered, 10s));
    });
    start.set();
    ASSERT_TRUE(support::eventually([&] { return deliveries.size() == 1; }));
    EXPECT_EQ(deliveries.entries().front(), Delivery::kGone);
    EXPECT_EQ(taken, 0u);
  }
}

TEST_P(WhatTrapsInTheMiddle, of_a_damaged_message_ends_nobody_else) {
  if (!bulkhead::has_heaps()) return;
  const auto damager = runtime.spawn_with<Damager>(isolated(on_core(1)));
  Damaged message;
  message.lines.assign(10, std::string(100, 'x'));
  damager.send(std::move(message));
  ASSERT_TRUE(support::eventually([&] { return runtime.stats().actors_trapped == 1; }));
  ASSERT_TRUE(support::eventually([&] { return bulkhead::heaps_live() == 0; }));
}

// Not a trap at all: the sender is isolated, and waits.
TEST_P(WhatTrapsInTheMiddle, of_nothing_a_parcel_in_an_offer_arrives) {
  support::Event start;
  for (const bool to_isolated : {false, true}) {
    static std::size_t taken;
    taken = 0;
    const SpawnOptions options = full(on_core(1));
    static bulkhead::Address<Taker> taker;
    taker = runtime.spawn_with<Taker>(to_isolated ? isolated(options) : options, &start, &taken);
    runtime.spawn_with(isolated(on_core(0)), [] {
      static_cast<void>(taker.send(Wait{}));
      static_cast<void>(taker.send(Wait{}));
      Image image{Parcel<std::byte>(12'345)};
      static_cast<void>(taker.send_or_wait(image, 10s));
    });
    start.set();
    wait_for_idle();
    EXPECT_EQ(taken, 12'345u);
    bulkhead::stop(taker);
  }
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(WhatTrapsInTheMiddle);
