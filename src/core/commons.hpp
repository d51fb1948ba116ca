// The commons: the home of actors that roam, in a domain whose cores share one queue of actors that
// are ready to run (Config::run_queue). Such an actor has no core between two activations.
//
// | the actor   | its home | its right of notification | where it is                           |
// |-------------|----------|---------------------------|---------------------------------------|
// | waits       | commons  | nobody's                  | nowhere; its timer in the wheel here  |
// | is ready    | commons  | the queue's               | in the shared queue, once             |
// | is in hand  | a core   | that core's               | Core::roamer_: it has its turn        |
// | is visiting | a core   | nobody's, or news is on   | as an actor of that core which does   |
// |             |          | its way to that core      | not roam                              |
//
// Rules
//  M1  Who gets the right of an actor whose home is the commons puts it into the queue. Who takes
//      it from there has it in hand: takes its mail in, and runs it. See slot.hpp, S6.
//  M2  When its turn is over, the core stores the commons as its home, and puts it into the queue
//      if it has more to do. If it waits, it gives the right up; if mail has come, which tells
//      nobody while the right is held, it takes the actor back.
//  M3  An actor visits a core that owns it without its right: at its birth, when somebody else
//      holds that (a straggler's news is on its way to the core); and while it is away (crew.hpp)
//      and when it has come home, since the core gives the right up when it goes on without the
//      actor. It is the core's until the core gets the right.
//  M4  All timers of actors that roam are in one wheel, under its lock; so are the lists of send
//      timers of their owners. Who fires a receive timeout owns nothing of the actor: it takes the
//      timer out and claims the right, both under the lock; if somebody else holds that, then the
//      holder finds the timeout armed and its timer gone before it gives the right up, under the
//      lock as well. One core fires at a time, in order.
//  M5  A core that goes to sleep announces it, and looks into the queue again; who has put
//      something in wakes one that sleeps: sync/sleepers.hpp. One of those that sleep does so for
//      the earliest timer: sync/alarm.hpp. Who is awake, but about to run an actor, first wakes
//      another one for what is left in the queue, or for a timer that nobody sleeps for.
//  M6  At a stop each core ends what it finds waiting here, and what it takes from the queue from
//      then on. What another core has in hand meanwhile is ended later by that one, which has yet
//      to look; or has looked already.
// Checked by commons_model.cpp: M1 to M3, receive timeouts, and M6. By sleepers_model.cpp and
// alarm_model.cpp: M5, and who fires. Of M4, the timers of waits and of messages are not modelled.
#pragma once

#include <cstddef>
#include <memory>

#include "core/core.hpp"
#include "core/run_queue.hpp"
#include "sync/alarm.hpp"
#include "sync/lock.hpp"
#include "sync/sleepers.hpp"

namespace bulkhead::core {

class Commons {
 public:
  /// `home`: a core without a thread, which only stands for this as a home. Throws std::bad_alloc.
  Commons(Domain& domain, Core& home, RunQueue kind, std::size_t cores);
  Commons(const Commons&) = delete;
  Commons& operator=(const Commons&) = delete;

  [[nodiscard]] Core& home() const noexcept { return home_; }
  [[nodiscard]] bool is_home_of(const Slot& slot) const noexcept {
    return slot.home.load(std::memory_order_acquire) == home_.index;  // [pair slot.home]
  }
  void become_home_of(Slot& slot) const noexcept {
    slot.home.store(home_.index, std::memory_order_release);  // [pair slot.home]
  }

  // --- the queue ---------------------------------------------------------------------------------

  /// Whoever holds the right of an actor whose home this is; gives it to the queue.
  void push(Slot& slot) noexcept;
  /// The same by a core that takes from the queue next, and passes on what it leaves.
  void push_in_passing(const Core& core, Slot& slot) noexcept { queue_->push(&slot, core.place); }
  /// A core of the domain: an actor, with its right; or null.
  [[nodiscard]] Slot* pop(const Core& core) noexcept { return queue_->pop(core.place); }
  [[nodiscard]] bool has_work() const noexcept { return !queue_->empty(); }
  /// Gives the right of an actor that waits up. False when it has news, or its time is up.
  [[nodiscard]] bool settle(Slot& slot) noexcept;

  // --- sleep -------------------------------------------------------------------------------------

  /// False when there is work: then it wakes up. Else it sleeps until `due` at most, which is made
  /// earlier when it is to sleep for the timers.
  [[nodiscard]] bool fall_asleep(const Core& core, machine::Nanoseconds& due) noexcept;
  /// True when the core was picked to be woken, or has slept for the timers, and so must pass that
  /// on before it runs anything.
  [[nodiscard]] bool wake_up(const Core& core) noexcept;
  /// Wakes a core that sleeps, if one does and there is something for it.
  void pass_on() noexcept {
    if (has_work() || alarm_.is_unkept()) wake_one();
  }

  // --- timers ------------------------------------------------------------------------------------

  /// Locks the timers while it lives.
  class Timers {
   public:
    explicit Timers(Commons& commons) noexcept : commons_(commons) { commons.lock_.lock(); }
    Timers(const Timers&) = delete;
    Timers& operator=(const Timers&) = delete;
    ~Timers() { commons_.lock_.unlock(); }

    /// True when nobody sleeps for it: then somebody is to be told.
    [[nodiscard]] bool start(Timer& timer, machine::Nanoseconds delay) noexcept;
    /// It is linked.
    void cancel(Timer& timer) noexcept;

   private:
    Commons& commons_;
  };
  /// Is that timer, which was started, out of the wheel again?
  [[nodiscard]] bool has_fired(const Timer& timer) noexcept;
  /// Fires what is due. The loop of a core. True when it has something to pass on.
  [[nodiscard]] bool advance(Core& core);
  [[nodiscard]] machine::Nanoseconds next_due() const noexcept { return alarm_.due(); }
  void restart(machine::Nanoseconds now) noexcept { home_.timers.restart(now); }

 private:
  void wake_one() noexcept;
  bool note_due() noexcept;
  bool take_out(Timer& timer, machine::Nanoseconds now) noexcept;
  void deliver(Core& core, Timer& timer);
  void start_again(Core& core, SendTimer& ticking) noexcept;

  Domain& domain_;
  Core& home_;
  const std::unique_ptr<SharedQueue> queue_;
  sync::Sleepers<RealSync, kMostCores> sleepers_;
  sync::Lock<RealSync> lock_;  // for the wheel, which is its home's, and the alarm
  sync::Alarm<RealSync> alarm_;
};

}  // namespace bulkhead::core
