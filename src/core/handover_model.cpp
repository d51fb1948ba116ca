// Actors that move between cores, and senders to them, under every interleaving, with weak memory.
//
//   two_sends   The order argument of slot.hpp, A7, S3: an actor S sends m1 and m2 to R. S moves between
//       the two, or R does, or both, in each of the ways in which R can be moved; another sender's
//       letters make R's right of notification somebody else's at times. R gets m1, then m2, and the
//       other's in order, each once; it is owned by one core at a time, and in one ready queue, once;
//       and no right is lost.
//
// Broken copies follow; modelled.hpp says what each has wrong.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/modelled.hpp"

namespace bulkhead::core {
namespace {

constexpr std::uint16_t kCores = 3;

struct Setting {
  std::uint16_t sender_at = 0;
  std::uint16_t sender_to = 0;    // the same: it stays
  std::uint16_t receiver_at = 0;
  std::uint16_t receiver_to = 0;
  Move how = Move::kNever;
  unsigned others = 0;            // letters from a thread outside
  unsigned queued = 0;            // letters that the receiver has at first
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
    run.name("S", sender);
    run.name("R", receiver);
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
    world.dropped = [](Core&) { model::check(false, "no letter is dropped"); };
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

  static void place(ModelSlot& slot, std::uint16_t core) {
    slot.home.store(core, kRelaxed);
  }

  void check_rights() {
    for (int i = 0; i < 2; ++i) {  // news may go on to another core
      for (Core& core : cores) core.take_arrivals();
    }
    model::check(sender.inbox.claim_right(), "the right of S is not lost");
    model::check(receiver.inbox.claim_right(), "the right of R is not lost");
  }
};

constexpr const char* kCoreNames[kCores] = {"core 0", "core 1", "core 2"};

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

std::string text(const Setting& setting) {
  return "S " + std::to_string(setting.sender_at) + "->" + std::to_string(setting.sender_to) + ", R " +
         std::to_string(setting.receiver_at) + "->" + std::to_string(setting.receiver_to) + " how " +
         std::to_string(static_cast<int>(setting.how)) + ", others " +
         std::to_string(setting.others) + ", queued " + std::to_string(setting.queued);
}

void expect_ok(const Setting& setting, unsigned bound) {
  auto options = sync::within(bound);
  if (getenv("STALE")) options.stale_bound = unsigned(atoi(getenv("STALE")));
  if (getenv("SC")) options.weak = false;
  const model::Result r = two_sends<Flaw::kNone>(options, setting);
  std::fprintf(stderr, "%s: %s\n", text(setting).c_str(), r.summary().c_str());
  EXPECT_TRUE(r.ok()) << text(setting) << "\n" << r.report();
}

TEST(HandoverModel, letters_of_a_sender_that_moves_come_in_order) {
  expect_ok({.sender_to = 1}, 2);
  expect_ok({.sender_to = 1, .receiver_at = 1, .receiver_to = 1}, 2);
  expect_ok({.sender_to = 1, .receiver_at = 2, .receiver_to = 2}, 2);
}

TEST(HandoverModel, letters_to_a_receiver_that_moves_come_in_order) {
  for (const Move how : {Move::kShared, Move::kGathered, Move::kAfterBatch}) {
    expect_ok({.sender_at = 1, .sender_to = 1, .receiver_to = 1, .how = how}, 2);
    expect_ok({.receiver_to = 1, .how = how}, 2);
    expect_ok({.sender_at = 2, .sender_to = 2, .receiver_to = 1, .how = how}, 2);
  }
}

TEST(HandoverModel, letters_come_in_order_when_both_move) {
  for (const Move how : {Move::kShared, Move::kGathered, Move::kAfterBatch}) {
    expect_ok({.sender_to = 1, .receiver_at = 1, .receiver_to = 0, .how = how}, 2);
    expect_ok({.sender_to = 1, .receiver_at = 0, .receiver_to = 1, .how = how}, 2);
    expect_ok({.sender_to = 1, .receiver_at = 0, .receiver_to = 2, .how = how}, 2);
    expect_ok({.sender_to = 1, .receiver_at = 1, .receiver_to = 2, .how = how}, 2);
    expect_ok({.sender_to = 1, .receiver_at = 2, .receiver_to = 1, .how = how}, 2);
    expect_ok({.sender_to = 1, .receiver_at = 2, .receiver_to = 0, .how = how}, 2);
  }
}

}  // namespace
}  // namespace bulkhead::core
