// Actors that move between cores, and senders to them, under every interleaving, with weak memory.
//
//   two_sends   The order argument of slot.hpp, and S3: an actor S sends two letters to R. S moves
//       between the two, or R does, or both, in each of the ways in which R can be moved; a letter
//       of another sender makes the right of notification somebody else's at times. R gets the
//       letters of S in order, and each letter once; it is owned by one core at a time, and is in
//       one ready queue, once; no right is lost; and news always comes to the home that it is for,
//       since who holds the right reads the last home. If it did not, to follow would do.
//
// Broken copies follow; modelled.hpp says what each has wrong.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

#include "core/modelled.hpp"

namespace bulkhead::core {
namespace {

constexpr std::uint16_t kCores = 3;

struct Setting {
  std::uint16_t sender_at = 0;
  std::uint16_t sender_to = 0;  // the same: it stays
  std::uint16_t receiver_at = 0;
  std::uint16_t receiver_to = 0;
  Move how = Move::kNever;
  unsigned others = 0;  // letters from a thread outside
  unsigned queued = 0;  // letters that the receiver has at first
};

constexpr std::uint8_t kFromS = 0;
constexpr std::uint8_t kFromOutside = 1;
constexpr std::uint8_t kQueuedBefore = 2;

template <Flaw flaw>
struct Program {
  using Core = ModelCore<flaw>;

  typename Core::World world;
  Core cores[kCores] = {{world, 0}, {world, 1}, {world, 2}};
  ModelSlot sender;
  ModelSlot receiver;
  ModelSignal letters[3][2];  // of S, of outside, and those queued before
  ModelSignal to_sender[2];   // S sends once for each
  unsigned all;

  Program(model::Run& run, const Setting& setting) : all(2 + setting.others + setting.queued) {
    sender.name(run, "S's inbox", "S's home", "S's link", "S's own lines");
    receiver.name(run, "R's inbox", "R's home", "R's link", "R's own lines");
    run.name("letters", letters);
    run.name("to S", to_sender);
    run.name("core 0", cores[0]);
    run.name("core 1", cores[1]);
    run.name("core 2", cores[2]);
    for (Core& core : cores) world.cores.push_back(&core);
    world.handler = [this](Core& core, ModelSlot& slot, const Letter& letter) {
      if (&slot == &sender) {
        core.commit(receiver, letters[kFromS][slot.own().sent++]);
      } else {
        std::uint8_t& last = slot.own().last[letter.sender];
        model::check(letter.number == last + 1, "the letters of a sender come once and in order");
        last = letter.number;
        if (++slot.own().handled == all) Core::end(world);
      }
    };
    world.dropped = [](const Letter&) { model::check(false, "no letter is dropped"); };
    place(sender, setting.sender_at);
    place(receiver, setting.receiver_at);
    for (std::uint8_t from = 0; from < 3; ++from) {
      for (std::uint8_t i = 0; i < 2; ++i) {
        letters[from][i].letter.write(
            {.generation = 1, .sender = from, .number = static_cast<std::uint8_t>(i + 1)});
      }
    }
    for (ModelSignal& signal : to_sender) {
      signal.letter.write({.generation = 1});
      sender.append(&signal);
    }
    cores[setting.sender_at].make_ready(sender);
    if (setting.sender_to != setting.sender_at) {
      sender.own().move = Move::kAfterBatch;
      sender.own().to = setting.sender_to;
    }
    for (unsigned i = 0; i < setting.queued; ++i) receiver.append(&letters[kQueuedBefore][i]);
    if (setting.queued > 0) cores[setting.receiver_at].make_ready(receiver);
    receiver.own().move = setting.how;
    receiver.own().to = setting.receiver_to;
  }

  static void place(ModelSlot& slot, std::uint16_t core) { slot.home.store(core, kRelaxed); }

  void check_rights() {
    for (int i = 0; i < 2; ++i) {  // news may go on to another core
      for (Core& core : cores) core.take_arrivals();
    }
    model::check(sender.inbox.claim_right(), "the right of S is not lost");
    model::check(receiver.inbox.claim_right(), "the right of R is not lost");
  }
};

constexpr const char* kCoreNames[kCores] = {"core 0", "core 1", "core 2"};

std::string text(const Setting& setting) {
  constexpr const char* kHow[] = {"stays", "is shared", "is gathered", "goes after a batch"};
  const auto way = [](std::uint16_t from, std::uint16_t to) {
    return std::to_string(from) + " -> " + std::to_string(to);
  };
  return "S " + way(setting.sender_at, setting.sender_to) + ", R " +
         way(setting.receiver_at, setting.receiver_to) + " (" +
         kHow[static_cast<std::size_t>(setting.how)] + "), " + std::to_string(setting.others) +
         " from outside, " + std::to_string(setting.queued) + " queued before";
}

template <Flaw flaw>
model::Result two_sends(const model::Options& options, const Setting& setting) {
  return model::explore(options, [setting](model::Run& run) {
    auto s = std::make_shared<Program<flaw>>(run, setting);
    for (std::uint16_t i = 0; i < kCores; ++i) {
      if (i != setting.sender_at && i != setting.sender_to && i != setting.receiver_at &&
          i != setting.receiver_to) {
        continue;
      }
      run.thread(kCoreNames[i], [s, i] { s->cores[i].run(); });
    }
    if (setting.others > 0) {
      run.thread("outside", [s, setting] {
        for (unsigned i = 0; i < setting.others; ++i) {
          Program<flaw>::Core::push(s->world, s->receiver, s->letters[kFromOutside][i]);
        }
      });
    }
    run.finally([s] { s->check_rights(); });
  });
}

// In which order the two arrive at a place, and with whom.
constexpr Setting kSenderComes{.sender_to = 1, .receiver_at = 1, .receiver_to = 1};
constexpr Setting kSenderGoes{.sender_to = 1};
constexpr Setting kReceiverComes{.sender_at = 1, .sender_to = 1, .receiver_to = 1};
constexpr Setting kReceiverGoes{.receiver_to = 1};
constexpr Setting kTheyPass{.sender_to = 1, .receiver_at = 1};
constexpr Setting kBothGo{.sender_to = 1, .receiver_to = 1};

constexpr Setting kOnTwoCores[] = {kSenderComes,  kSenderGoes, kReceiverComes,
                                   kReceiverGoes, kTheyPass,   kBothGo};

constexpr Setting kOnThreeCores[] = {
    {.sender_to = 1, .receiver_at = 2, .receiver_to = 2},
    {.sender_at = 2, .sender_to = 2, .receiver_to = 1},
    {.sender_to = 1, .receiver_at = 0, .receiver_to = 2},
    {.sender_to = 1, .receiver_at = 1, .receiver_to = 2},
    {.sender_to = 1, .receiver_at = 2, .receiver_to = 1},
    {.sender_to = 1, .receiver_at = 2, .receiver_to = 0},
};

constexpr Move kMoves[] = {Move::kShared, Move::kGathered, Move::kAfterBatch};

std::span<const Move> ways(const Setting& setting) {
  static constexpr Move kStays[] = {Move::kNever};
  if (setting.receiver_to == setting.receiver_at) return kStays;
  return kMoves;
}

Setting with(Setting setting, Move how, unsigned others = 0, unsigned queued = 0) {
  setting.how = how;
  setting.others = others;
  setting.queued = queued;
  return setting;
}

// Programs of three threads.
model::Options larger() { return sync::few_stale(2); }
model::Options largest() { return sync::few_stale(1); }

void expect_ok(const model::Options& options, const Setting& setting) {
  const model::Result r = two_sends<Flaw::kNone>(options, setting);
  EXPECT_TRUE(r.ok()) << text(setting) << "\n" << r.report();
}

// What is wrong without weak memory is looked for without.
template <Flaw flaw>
void expect_found(const Setting& setting, std::string_view what) {
  const model::Result r = two_sends<flaw>({.preemption_bound = 2}, setting);
  EXPECT_TRUE(r.found(what)) << text(setting) << "\n" << r.report();
}

TEST(HandoverModel, letters_come_in_order_on_two_cores_whoever_moves) {
  for (const Setting& setting : kOnTwoCores) {
    for (const Move how : ways(setting)) {
      expect_ok(sync::full(), with(setting, how));
      expect_ok(sync::full(), with(setting, how, 0, 1));
    }
  }
}

TEST(HandoverModel, letters_come_in_order_when_another_holds_the_right) {
  for (const Setting& setting : kOnTwoCores) {
    for (const Move how : ways(setting)) {
      expect_ok(larger(), with(setting, how, 1, how == Move::kGathered ? 0 : 1));
    }
  }
}

TEST(HandoverModel, letters_come_in_order_on_three_cores_whoever_moves) {
  for (const Setting& setting : kOnThreeCores) {
    for (const Move how : ways(setting)) {
      expect_ok(largest(), with(setting, how));
    }
  }
}

TEST(HandoverModel, letters_in_disorder_are_found) {
  constexpr std::string_view kOrder = "the letters of a sender come once and in order";
  expect_found<Flaw::kAppendsWithoutLook>(with(kSenderComes, Move::kNever, 1), kOrder);
  expect_found<Flaw::kAppendsWithoutLook>(with(kReceiverComes, Move::kShared, 0, 1), kOrder);
}

TEST(HandoverModel, a_second_owner_is_found) {
  constexpr std::string_view kRace = "data race: plain memory R's own lines";
  expect_found<Flaw::kHomeFirst>(with(kReceiverComes, Move::kShared), kRace);
  expect_found<Flaw::kHomeRelaxed>(with(kReceiverComes, Move::kShared), kRace);
  expect_found<Flaw::kHomeReadRelaxed>(with(kReceiverComes, Move::kShared), kRace);
  expect_found<Flaw::kReadyWhileMoving>(with(kReceiverComes, Move::kGathered),
                                        "in one ready queue, once");
}

TEST(HandoverModel, a_move_without_the_right_is_found) {
  constexpr std::string_view kRace = "data race: plain memory R's link";
  expect_found<Flaw::kMovesWithoutRight>(with(kReceiverComes, Move::kShared), kRace);
  expect_found<Flaw::kSettlesBeforeMoving>(with(kReceiverComes, Move::kShared), kRace);
  expect_found<Flaw::kSettlesThenNext>(with(kReceiverComes, Move::kShared), kRace);
}

TEST(HandoverModel, news_that_comes_to_an_old_home_may_follow) {
  for (const Move how : kMoves) {
    const Setting setting = with(kReceiverComes, how, 1);
    const model::Result r = two_sends<Flaw::kNotifiesOldHome>(larger(), setting);
    EXPECT_TRUE(r.ok()) << text(setting) << "\n" << r.report();
  }
  expect_found<Flaw::kNewsGetsLost>(with(kReceiverComes, Move::kShared, 1),
                                    "data race: plain memory R's own lines");
}

}  // namespace
}  // namespace bulkhead::core
