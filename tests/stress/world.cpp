#include "stress/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include "support/balance.hpp"
#include "support/wait.hpp"

namespace stress {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;
using bulkhead::Delivery;
using bulkhead::Pid;
using namespace std::chrono_literals;

namespace {

std::uint64_t packed(Pid pid) { return std::uint64_t{pid.generation()} << 32 | pid.index(); }
Pid unpacked(std::uint64_t word) {
  return Pid(static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32));
}

// Counts a handler that comes to its end, and none that fails or is unwound.
class Completion {
 public:
  explicit Completion(std::atomic<std::uint64_t>& count)
      : count_(count), before_(std::uncaught_exceptions()) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() {
    if (std::uncaught_exceptions() == before_) ++count_;
  }

 private:
  std::atomic<std::uint64_t>& count_;
  int before_;
};

}  // namespace

// --- the world ---

void World::told(const bulkhead::DeadLetter& letter) {
  if (letter.message_type.ends_with("Parcel") || letter.message_type.ends_with("Query")) {
    ++laws.letters;
  }
  if (letter.message_type.ends_with("Crate")) ++laws.lost;
}

Address<Actor> World::anybody(support::Random& random) const {
  return Address<Actor>(unpacked(known_[random.below(kKnown)].load()));
}

void World::make_known(Address<Actor> actor, support::Random& random) {
  known_[random.below(kKnown)].store(packed(actor.pid()));
}

void World::expect_laws(const bulkhead::Stats& stats) const {
  EXPECT_EQ(laws.sent + laws.asked, laws.completed + laws.letters);
  EXPECT_GE(laws.emptied + laws.lost, laws.let_in);
  EXPECT_LE(laws.emptied + laws.lost, laws.let_in + laws.untold);
  EXPECT_EQ(laws.misordered, 0u);
  EXPECT_EQ(laws.misdelivered, 0u);
  EXPECT_EQ(laws.wrong_answers, 0u);
  support::expect_balanced(stats);
}

void World::expect_nothing_left(const bulkhead::Stats& stats) const {
  EXPECT_EQ(laws.alive, 0);
  EXPECT_EQ(support::Live::alive(), 0);
  EXPECT_EQ(stats.actors_started, stats.actors_ended);
  EXPECT_EQ(stats.pool_bytes, 0u);
}

void World::forget_all() {
  for (auto& known : known_) known.store(0);
}

bulkhead::SpawnOptions World::any_options(support::Random& random) const {
  bulkhead::SpawnOptions options;
  if (random.one_in(200)) {
    options.own_thread = true;
  } else if (random.one_in(2)) {
    options.core = random.below(static_cast<std::uint32_t>(cores_));
  }
  options.pinned = random.one_in(5);
  if (random.one_in(10)) options.stack_size = std::size_t{256 * 1024} << random.below(3);
  if (random.one_in(5)) options.mailbox_bound = 1 + random.below(20);
  return options;
}

// --- senders ---

// A number that was not used up is used for the next one.
void Sender::was_refused(Address<Actor> to) {
  if (--next_number_[to.pid()] == 0) next_number_.erase(to.pid());
}

void Sender::send_parcel(std::uint32_t fuel) {
  const Address<Actor> to = world_.anybody(random_);
  if (!to) return;
  ++world_.laws.sent;
  if (to.send(numbered<Parcel>(to, fuel)) != Delivery::kQueued) was_refused(to);
}

void Sender::send_or_wait(std::uint32_t fuel) {
  const Address<Actor> to = world_.anybody(random_);
  if (!to || to.pid() == self_) return;
  auto crate = numbered<Crate>(to, fuel);
  const auto time = std::chrono::microseconds(random_.below(2000));
  auto delivery = Delivery::kGone;
  try {
    delivery = to.send_or_wait(crate, time);
  } catch (...) {
    ++world_.laws.untold;
    throw;
  }
  if (delivery == Delivery::kQueued) {
    ++world_.laws.let_in;
    return;
  }
  was_refused(to);
  if (crate.live.value() != 1) ++world_.laws.misdelivered;
}

void Sender::ask(std::uint32_t fuel) {
  const Address<Actor> to = world_.anybody(random_);
  if (!to) return;
  auto query = numbered<Query>(to, fuel);
  const auto number = query.number;
  ++world_.laws.asked;
  const auto answer = to.ask(std::move(query), std::chrono::microseconds(random_.below(3000)));
  if (answer.has_value()) {
    if (*answer != static_cast<int>(number)) ++world_.laws.wrong_answers;
    return;
  }
  switch (answer.error()) {
    case bulkhead::AskError::kSelf:
      --world_.laws.asked;  // nothing was sent
      was_refused(to);
      break;
    case bulkhead::AskError::kGone:
    case bulkhead::AskError::kFull:
    case bulkhead::AskError::kNoMemory:
      was_refused(to);
      break;
    default:
      break;
  }
}

// --- actors ---

Actor::Actor(World* world, std::uint64_t seed) : world_(*world), sender_(*world, Pid(), seed) {
  ++world_.laws.alive;
}

Actor::~Actor() {
  --world_.laws.alive;
  if (sender_.random().one_in(20)) sender_.send_parcel(0);
}

void Actor::started() {
  self_ = this_actor::pid();
  sender_.set_self(self_);
  world_.make_known(this_actor::address(this), sender_.random());
  if (sender_.random().one_in(50)) this_actor::yield();
}

bulkhead::Timeout Actor::receive_timeout() {
  if (!sender_.random().one_in(10)) return bulkhead::kForever;
  return std::chrono::microseconds(sender_.random().below(2000));
}

void Actor::receive(bulkhead::ReceiveTimeout /*timeout*/) {
  if (sender_.random().one_in(3)) sender_.send_parcel(1);
}

void Actor::check(Pid from, Pid to, std::uint32_t number) {
  if (to != self_) ++world_.laws.misdelivered;
  std::uint32_t& expected = next_from_[from];
  // A message that was refused while the runtime was ending may be missing at the end.
  if (number != expected && !world_.over) ++world_.laws.misordered;
  expected = number + 1;
}

void Actor::receive(Parcel parcel) {
  const Completion completion(world_.laws.completed);
  check(parcel.from, parcel.to, parcel.number);
  if (parcel.live.value() != 1) ++world_.laws.misdelivered;
  act(parcel.fuel);
}

void Actor::receive(Crate crate) {
  const Completion completion(world_.laws.emptied);
  check(crate.from, crate.to, crate.number);
  act(crate.fuel);
}

void Actor::receive(Query query, bulkhead::Reply<int> reply) {
  const Completion completion(world_.laws.completed);
  check(query.from, query.to, query.number);
  if (sender_.random().one_in(3)) act(query.fuel);
  answer(std::move(reply), static_cast<int>(query.number));
}

void Actor::receive(Errand errand) { errand.reply(errand.answer); }

void Actor::answer(bulkhead::Reply<int> reply, int value) {
  support::Random& random = sender_.random();
  switch (random.below(10)) {
    case 0:
      return;  // never
    case 1:
      if (kept_) (*kept_)(kept_answer_);
      kept_.emplace(std::move(reply));
      kept_answer_ = value;
      return;
    case 2:
      if (const auto other = world_.anybody(random)) {
        other.send(Errand{std::move(reply), value});
        return;
      }
      break;
    case 3:
      be_slow();
      break;
    default:
      break;
  }
  reply(value);
}

void Actor::be_slow() {
  support::Random& random = sender_.random();
  switch (random.below(4)) {
    case 0:
      this_actor::yield();
      break;
    case 1:
      this_actor::sleep_for(std::chrono::microseconds(random.below(300)));
      break;
    case 2:
      support::burn(std::chrono::microseconds(random.below(50)));
      break;
    default:
      try {
        throw 1;
      } catch (int) {
        this_actor::yield();
      }
  }
}

void Actor::end_somehow() {
  support::Random& random = sender_.random();
  switch (random.below(4)) {
    case 0:
      this_actor::stop();
      break;
    case 1:
      be_slow();
      bulkhead::panic("at random");
    case 2:
      throw 42;
    default:
      if (const auto other = world_.anybody(random)) bulkhead::stop(other);
  }
}

void Actor::act_on_timers(std::uint32_t fuel) {
  support::Random& random = sender_.random();
  if (!timers_.empty() && random.one_in(2)) {
    static_cast<void>(bulkhead::cancel(timers_.back()));
    timers_.pop_back();
    return;
  }
  const auto other = world_.anybody(random);
  if (!other || fuel == 0) return;
  // What a timer sends is not numbered: its number would be used when it starts, not when it fires.
  timers_.push_back(
      bulkhead::send_after(std::chrono::microseconds(random.below(1500)), other,
                           Errand{bulkhead::Reply<int>(bulkhead::core::ReplyTo{}), 0}));
}

void Actor::act(std::uint32_t fuel) {
  support::Random& random = sender_.random();
  const std::uint32_t most = fuel > 0 ? 3 : 1;
  for (std::uint32_t i = 0; i < most; ++i) {
    switch (random.below(20)) {
      case 0:
      case 1:
        if (fuel > 0 && world_.laws.alive < 2000) {
          try {
            world_.make_known(
                bulkhead::spawn_with<Actor>(world_.any_options(random), &world_, random.seed()),
                random);
          } catch (const bulkhead::SpawnError&) {
          }
        }
        break;
      case 2:
        end_somehow();
        break;
      case 3:
        be_slow();
        break;
      case 4:
        act_on_timers(fuel);
        break;
      case 5:
      case 6:
        if (fuel > 0) sender_.ask(fuel - 1);
        break;
      case 7:
        if (fuel > 0) sender_.send_or_wait(fuel - 1);
        break;
      case 8:
        if (kept_) {
          (*kept_)(kept_answer_);
          kept_.reset();
        }
        break;
      default:
        if (fuel > 0) sender_.send_parcel(fuel - 1);
    }
  }
}

}  // namespace stress
