// Bonds: what lets one actor hear of the end of another, for monitors and links.
//
// A bond has two sides: 0, the actor that made it, and 1, the other. Each has an end of it in a
// list of its own (Extras::bonds), which only its owner touches. The bond holds the memory of the
// one signal that it ever sends, its news, so that an end is always told, also without memory.
//
// | side 0 | side 1 | meaning                                  | next                        |
// |--------|--------|------------------------------------------|-----------------------------|
// | tied   | free   | made; side 1 is on its way to be told    | tied; or news: no actor     |
// | tied   | tied   | holds                                    | one side is free (cut)      |
// | one of them     | the other has cut, and its news are due  | free: gone, or news queued  |
// | free   | free   | both have cut; the news are dropped      | gone                        |
//
// Rules
//  B1  Who is done with a bond, or has ended, leaves it: it takes its end out of its list, and then
//      cuts the tie (sync/tie.hpp). The first to cut sends the news.
//  B2  An actor that ends leaves all of its bonds before its generation changes: so whoever finds
//      news for an actor that is no more, finds a bond that nobody is tied to, and gives it back.
//      One that was on its way there still (T3) is given back by whoever is the last to drop.
//  B3  News are heard when they come to the owner, and not when it gets to them in its queue: what
//      ends an actor does so at once. They come in order with the messages of the same sender. Who
//      gets a message of them finds it in their memory; the bond is given back with that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bulkhead/links.hpp"
#include "core/core.hpp"
#include "sync/tie.hpp"

namespace bulkhead::core {

struct alignas(128) Bond {
  enum class Kind : std::uint8_t { kMonitor, kLink };
  enum class News : std::uint8_t { kUndone, kEnded };
  struct End {
    End* previous;
    End* next;  // null: it is in no list
  };

  Signal news;
  alignas(Down) std::byte told[sizeof(Down)];  // its payload: Down, or Exited
  End ends[2];
  RealSync::atomic<Pid> maker;  // side 0. Any thread that has a reference may look at it
  Pid other;                    // side 1
  RealSync::atomic<std::uint32_t> generation;  // odd while it is used
  std::uint32_t index;
  Kind kind;
  News what;
  std::uint8_t hears;  // the side that gets the news
  // In a word of its own: compilers read what lies beside each other at once.
  alignas(4) sync::Tie<RealSync> tie;
  Bond* next;  // free, or with news that are to be sent

  Bond*& next_free() noexcept { return next; }
  [[nodiscard]] Pid actor(unsigned side) const noexcept;
};

static_assert(sizeof(Bond) == 128);
static_assert(kPayloadOffset<Down> == sizeof(Signal) && sizeof(Exited) <= sizeof(Down));

struct LinkIndex;

/// An actor's bonds: a circle of their ends. Owner.
struct Bonds {
  Bond::End head{&head, &head};
  /// Its links by the other's pid; made when somebody looks for one among many, and dropped when
  /// there is no memory to keep it true.
  LinkIndex* index = nullptr;

  struct Counts {
    std::size_t links = 0;
    std::size_t monitoring = 0;  // others
    std::size_t monitored = 0;   // by others
  };
  [[nodiscard]] Counts count() const noexcept;

  Bonds() = default;
  Bonds(const Bonds&) = delete;
  Bonds& operator=(const Bonds&) = delete;
  ~Bonds();
};

enum class Made : bool { kByItself, kByAnybody };
/// Before an actor's generation changes (B2): leaves all bonds. Returns those that news are to be
/// sent of, chained. Only those that it has made itself: of one that goes on.
[[nodiscard]] Bond* leave_all(Slot& slot, const Exit& exit, Made by = Made::kByAnybody) noexcept;
/// Sends those.
void tell_all(Core& core, Bond* chain) noexcept;

/// Makes one, and sends its other side word of it. Owner of `self`. Throws std::bad_alloc.
Bond& bind(Core& core, Slot& self, Bond::Kind kind, Pid other);
/// Ends one that a side is tied to. That side's owner.
void leave(Core& core, Bonds& bonds, Bond& bond, unsigned side) noexcept;
/// A link to that other actor; null when there is none. Owner. Throws std::bad_alloc.
[[nodiscard]] Bond* find_link(Bonds& bonds, Pid other);
/// Those that an actor is linked to. Owner. Throws std::bad_alloc.
[[nodiscard]] std::vector<Pid> linked_to(const Bonds& bonds);
/// Up to so many of them, in no order; who has linked to this one at the same time as this one to
/// it may be there twice.
[[nodiscard]] std::vector<Pid> first_links(const Bonds& bonds, std::size_t most);
/// The actor's monitor; null when it is not the actor's, or has gone. Owner.
[[nodiscard]] Bond* find_monitor(const Slot& self, MonitorRef monitor) noexcept;
[[nodiscard]] bool is_tied(const Bond::End& end) noexcept;
[[nodiscard]] MonitorRef reference(const Bond& bond) noexcept;
/// Takes a monitor's message out of the actor's queue, if it is there. Owner.
void take_news_out(Core& core, Slot& slot, Bond& bond) noexcept;

/// The same with all messages that tell of an actor's exit.
void take_exits_out(Core& core, Slot& slot, Pid actor) noexcept;

/// What becomes of an exit that reaches an actor, in a signal that holds an Exited: returns it when
/// it is spent, null when it has been queued as a message. Owner.
Signal* hear_exit(Slot& slot, Signal* signal) noexcept;
/// Makes a message of a signal that has been heard. Returns null.
Signal* queue_heard(Slot& slot, Signal* signal, const SignalOps* ops,
                    std::uint8_t flags = Signal::kLosesNothing) noexcept;
/// Is it, on its way or in a queue, the Down of a monitor? Who has it in hand.
[[nodiscard]] bool tells_of_end(Signal* signal) noexcept;
/// Of exits that have been heard.
extern const SignalOps kSpentExit;

/// As bulkhead::exit and kill. Any thread. Throws std::bad_alloc.
[[nodiscard]] Delivery send_exit(Pid to, Exit reason);
[[nodiscard]] Delivery send_kill(Pid to);

/// One that nobody is tied to yet. Throws std::bad_alloc.
[[nodiscard]] Bond& make_bond(Core& core, Bond::Kind kind, Pid maker, Pid other);
/// A bond is given back with its news. Any thread.
void give_bond(Signal* news) noexcept;
/// Ties one whose other side nobody knows yet.
void tie_both(Extras& maker, Extras& other, Bond& bond) noexcept;

}  // namespace bulkhead::core
