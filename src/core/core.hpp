// A core: one scheduler thread's data, and the loop that it runs.
//
// Who touches what
//  C1  The first part: other threads, as its parts say. Everything else: the thread that runs the
//      core's loop, and nobody else while the core runs.
//  C2  A core is never destroyed, only recycled by its domain: a thread that has read a slot's home
//      may still look at the core that the slot has left.
//  C3  The loop runs on a lent stack and calls handlers on it. All state of the loop is here, none
//      in its frames, so that any frame of the loop on any stack can go on as the loop of the core
//      that its stack's record names. A handler that blocks keeps its stack, and the core starts
//      its loop on a fresh one; when the handler is resumed, the core abandons the stack that it is
//      on.
//  C4  The thread that runs the loop may change while the user's code runs (crew.hpp). So that it
//      does not change while the runtime's does, each function that handlers call begins by coming
//      inside, and ends by leaving: see sync/seat.hpp, and Inside.
//  C5  After anything that may switch stacks, the core is read anew: from the stack's record, or by
//      Core::current(). It may be another core, on another thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "base/check.hpp"
#include "bulkhead/delivery.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/unwind.hpp"
#include "bulkhead/wait.hpp"
#include "core/counts.hpp"
#include "core/poller.hpp"
#include "core/ready_queue.hpp"
#include "core/record_slab.hpp"
#include "core/sending.hpp"
#include "core/slot.hpp"
#include "core/thread_seat.hpp"
#include "core/timer_wheel.hpp"
#include "core/trace.hpp"
#include "machine/fiber.hpp"
#include "memory/pool.hpp"
#include "sync/arrivals.hpp"

namespace bulkhead::core {

class Commons;
class Core;
class Domain;
class NameCache;
struct Bond;
struct Drive;
struct StageBounds;
struct Told;
struct Trap;

/// By whose doing an actor is to end for a reason.
enum class Sentenced : std::uint8_t { kNot, kByItself, kBySignal };

inline constexpr std::size_t kMaxCores = 1024;  // of the process
inline constexpr std::size_t kMostCores = 256;  // of a domain, but for those of one actor each
inline constexpr std::uint32_t kActivationsPerTurn = 64;
// How often a busy core looks at its descriptors.
inline constexpr machine::Nanoseconds kPollEvery = 50'000;
// Messages that an actor may handle in one activation: adapts to the backlog in between.
inline constexpr std::uint32_t kLeastBatch = 64;
inline constexpr std::uint32_t kMostBatch = 1024;

struct SendTimer;

class alignas(64) Core {
 public:
  Core() = default;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// The core whose loop runs on the calling thread; null on others. Read it anew after anything
  /// that may switch stacks.
  [[nodiscard]] static Core* current() noexcept;

  /// Before its first thread runs it: takes what the loop cannot do without. Throws std::bad_alloc,
  /// std::runtime_error.
  void prepare_to_run();
  /// Runs the loop on the calling thread until the domain stops, or the core has left the thread
  /// with an actor that has now come home; or until `drive`, if given, is over.
  void run(Worker& worker, Drive* drive = nullptr);
  /// Takes memory for what a stage may need at a time. Throws std::bad_alloc.
  void reserve(const StageBounds& bounds);

  // --- for actors that run here (activation.cpp) -------------------------------------------------

  /// May what runs here wait? Not a hook or the destructor of a message that is dropped: they run
  /// in the middle of something, with an actor (see InTheMiddle) or without one.
  [[nodiscard]] bool may_wait() const noexcept { return running != nullptr && dropping_ == 0; }
  /// Opens a wait of the running actor and returns its epoch. Throws std::runtime_error when there
  /// is no memory for a stack to go on with, std::logic_error where the actor must not block.
  /// Nothing that may switch stacks comes between this and park, or retire_wait; all of it, as all
  /// of these, is called inside.
  [[nodiscard]] static std::uint64_t begin_wait();
  /// Blocks the running actor until somebody who has claimed the wait that it began resumes it, or
  /// `timeout` has passed. Throws Unwind when the actor is to end; or, where that cannot be (in a
  /// destructor), returns at once as if time were up. Returns the core to go on on.
  static Core* park(std::uint64_t epoch, machine::Nanoseconds timeout,
                    WaitsFor what = WaitsFor::kSomething);
  /// Gives up the wait that the running actor has begun: true when nobody has claimed it, and
  /// nobody will. Else it must be parked in, and is woken.
  [[nodiscard]] static bool retire_wait(std::uint64_t epoch) noexcept;
  /// Takes the oldest signal out of the running actor's queue that look() wants taken; waits for
  /// one if there is none. Null when time is up, or the actor is to end and cannot be unwound. The
  /// message is in hand until the next call, or the end.
  [[nodiscard]] static Signal* receive(LookAt look, void* context, machine::Nanoseconds timeout);
  /// Lets the others run. Without effect when there is no memory for a stack to go on with. Returns
  /// the core to go on on.
  static Core* yield();
  /// In a child process that is forked: the one thread there runs no core any more.
  static void forget_in_fork() noexcept;
  /// To return to where the calling thread was before it came inside.
  void leave(std::uint8_t was = 0) noexcept { seat->at.leave(was); }
  /// Throws Unwind when the running actor is to end and it may be thrown.
  static void check_unwind();
  /// May Unwind be thrown here? Not in a destructor, nor below another noexcept function: there the
  /// waits of an actor that is to end are over at once, as if time were up.
  [[nodiscard]] static bool may_unwind();
  /// For a sender that finds the pool dry: lets the receivers of its signals run first, if it is a
  /// flood. Returns the core to go on on.
  [[nodiscard]] static Core* give_way(std::uint8_t size_class) noexcept;

  // --- isolation (compartment.cpp) ---------------------------------------------------------------
  /// Where a thread goes on whose isolated actor has trapped: at the base of that actor's stack.
  static void land(void* stack);

  // --- preemption (preempt.cpp) ------------------------------------------------------------------

  enum class Unwinds : bool { kNo, kYes };
  /// Lets the others run if the running actor has used its time up and somebody waits, and it is in
  /// the middle of nothing. Any thread. With kYes, throws Unwind when the actor is to end.
  static void look(Unwinds unwinds);
  /// The same, for loops: most calls only count.
  static void check();
  /// Is the running actor's own code at work, so that it may be made to give way? Owner.
  [[nodiscard]] bool may_give_way() const noexcept;
  /// For code that is compiled with hooks: its reductions are used up.
  static void reductions_are_due();

  // --- owner -------------------------------------------------------------------------------------

  /// Takes a vacant slot, quiet or not, and makes it this core's. Null when there is none.
  [[nodiscard]] Slot* take_slot() noexcept;
  /// Gives a vacant slot of this core back.
  void give_slot(Slot& slot) noexcept;
  /// Puts an idle actor to run.
  void make_ready(Slot& slot) {
    if (slot.has(Slot::kMoving | Slot::kTimeoutArmed | Slot::kReceiving | Slot::kRoams))
        [[unlikely]] {
      make_ready_slowly(slot);
      return;
    }
    slot.turn = Turn::kReady;
    ready.push_hot(&slot);
  }
  void make_ready_slowly(Slot& slot);
  void resume_slowly(Slot& slot);
  /// Puts a ready actor into a queue; but not the roaming one in hand, which goes to the commons
  /// when it has had its turn.
  void queue_hot(Slot& slot) noexcept {
    if (&slot != roamer_) [[likely]]
      ready.push_hot(&slot);
  }
  void queue_fair(Slot& slot) noexcept {
    if (&slot != roamer_) [[likely]]
      ready.push_fair(&slot);
  }
  /// Does it run one that roams, which nobody is to follow here?
  [[nodiscard]] bool holds_roamer() const noexcept { return roamer_ != nullptr; }
  /// One whose way is traced is taken out of the queue, to be handled.
  void trace_taking(const Slot& slot, const Signal& signal) noexcept;
  /// Appends a list of signals from the inbox.
  void take_in(Slot& slot, Signal* signals) noexcept;
  /// Of one that has ended: drops what has come and was not taken in. Returns the actor's core.
  Core* drop_mail(Slot& slot) noexcept;
  /// Destroys a signal's payload and releases it, and counts it as dropped after it was sent.
  void drop(Signal* signal, Pid receiver, DropCause cause) noexcept;
  void discard(Signal* signal, Pid receiver, DropCause cause) noexcept;  // its caller counts it
  /// Gives a signal's memory back.
  void release(Signal* signal) noexcept {
    if (signal->pool == index) [[likely]] {
      pool.give(signal, signal->size_class);
    } else {
      release_block(signal, signal->pool, signal->size_class);
    }
  }
  void release_block(void* block, std::uint16_t pool, std::uint8_t size_class) noexcept;
  /// Gives an actor that is ready or idle here, with the right of notification, to another core.
  void hand_over(Slot& slot, Core& to) noexcept;
  /// Ends the wait of an actor parked here whose epoch has been claimed.
  void resume_later(Slot& slot);
  void disarm_timeout(Slot& slot) noexcept;
  /// A timer of an actor of this core; cancels it if it runs.
  void start_timer(const Slot& slot, Timer& timer, machine::Nanoseconds delay) noexcept {
    if (slot.has(Slot::kRoams)) [[unlikely]] {
      start_in_commons(timer, delay);
    } else {
      timers.start(timer, delay);
    }
  }
  void cancel_timer(const Slot& slot, Timer& timer) noexcept {
    if (slot.has(Slot::kRoams)) [[unlikely]] {
      cancel_in_commons(timer);
    } else if (timer.linked()) {
      timers.cancel(timer);
    }
  }
  /// Makes an actor of this core end at its next wait, its frames being unwound; at once when it is
  /// waiting, or idle.
  void unwind(Slot& slot);
  /// Why one is unwound that is to be.
  [[nodiscard]] Exit why_unwound(const Slot& slot) const noexcept;
  /// Is it to end, whether it hears of that or not?
  [[nodiscard]] bool must_end(const Slot& slot) const noexcept;
  /// The same, for a reason. The first one stands.
  void sentence(Slot& slot, const Exit& exit, Sentenced by) noexcept;
  /// That it will end for, and that it is to end. The first one stands. Throws std::bad_alloc.
  void set_reason(Slot& slot, const Exit& exit, Sentenced by);
  /// An actor that is at home here, with all that has come for it taken in; else null.
  [[nodiscard]] Slot* find_own(Pid actor) noexcept;
  /// For a signal that does not wait for its turn, and is for an actor of this core.
  void hear(Slot& slot, Signal* signal) noexcept;
  /// For an actor that has come here: ends it, if its domain is ending and the others have been.
  void end_newcomer(Slot& slot);
  /// Sends a new actor that roams, and has been made here, on its way.
  void launch(Slot& slot) noexcept;

  // --- the watch (away.cpp) ----------------------------------------------------------------------

  /// Changes with each activation. Any thread.
  [[nodiscard]] std::uint64_t progress() const noexcept {
    return std::uint64_t{turns_} << 32 | activations_left_;
  }
  [[nodiscard]] bool is_waited_for() const noexcept;
  void part_from(Worker& old);
  static void come_home(Worker& worker) noexcept;

  [[nodiscard]] machine::Nanoseconds clock() const noexcept { return now_; }

  // --- other threads -----------------------------------------------------------------------------

  using ArrivalList = sync::Arrivals<RealSync, Slot, &Slot::next_arrival>;
  ArrivalList arrivals;
  /// A core that has run out of work asks for some; its index, or kNoCore.
  RealSync::atomic<std::uint16_t> work_wanted_by{kNoCore};
  /// Ready actors, as of the last turn. A hint.
  RealSync::atomic<std::uint32_t> load{0};
  /// The domain that the core belongs to; null while it is not in use.
  RealSync::atomic<Domain*> domain{nullptr};
  /// Where actors that roam are at home; null when none do, and on cores of one actor. Written, as
  /// is the next, while the domain does not run.
  Commons* commons = nullptr;
  /// Of a core without a thread: the commons that it stands for as a home.
  Commons* stands_for = nullptr;
  Counts counts;
  /// Chunks of the pool, as of the last sleep.
  RealSync::atomic<std::size_t> pool_chunks{0};
  /// Actors that had ended here when the thread that stops the domain last looked. That thread's.
  std::uint64_t ended_before = 0;

  /// Puts one slot among the arrivals, and wakes the core if it sleeps. Any thread that holds the
  /// slot's right of notification.
  void notify_remote(Slot& slot) noexcept {
    if (arrivals.push_remote(&slot, &slot) == sync::Arrived::kMustWake) poller.wake();
  }

  // --- owner's data ------------------------------------------------------------------------------

  alignas(64) std::uint16_t index = 0;
  static constexpr std::uint16_t kNoHome = 0xfffd;
  std::uint16_t quick_home = 0;     // its index; kNoHome while it traces: trace.hpp, X5
  Shown<std::uint16_t> place = 0;   // within its domain; kNoCore: stands for the commons
  Shown<bool> solo = false;         // has one actor, which has the thread to itself
  Shown<Slot*> running = nullptr;   // no other thread follows it, but to name it
  machine::Stack* stack = nullptr;  // that the loop runs on
  ThreadSeat* seat = nullptr;       // of the thread that runs the core, or is about to
  Worker* worker = nullptr;         // that thread; under the crew's lock while there is a watch
  machine::ExceptionState* exceptions = nullptr;
  TraceTrack* trace = nullptr;  // null: off
  ReadyQueue ready;
  memory::Pool pool;
  TimerWheel timers;
  Poller poller;
  machine::StackPool stacks;
  FreeRecords<SendTimer> free_timers;
  FreeRecords<Bond> free_bonds;
  NameCache* names = nullptr;  // made at the first look-up, and kept

 private:
  friend class Domain;
  friend class InTheMiddle;
  friend class Trace;

  static void begin_on(machine::Stack* me);
  static void loop_entry(void* stack);
  [[noreturn]] static void loop(machine::Stack* me);
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] machine::Nanoseconds next_due() const noexcept;
  [[noreturn]] static void leave_loop(machine::Stack* me);
  void turn_over();
  void note_cost(machine::Nanoseconds elapsed) noexcept;
  void take_arrivals();
  void drop_stragglers(Slot& slot) noexcept;
  void drop_all(const Slot& slot, Signal* signals) noexcept;
  bool welcome(Slot& slot, const Signal* signal);
  void adopt(Slot& slot);
  void give_surplus_slots() noexcept;
  bool filled_the_pool(std::uint8_t size_class) noexcept;
  void fire(Timer& timer);
  void time_is_up(Slot& slot) noexcept;
  bool poll(machine::Nanoseconds timeout);
  void idle();
  void spin();
  void sleep();
  void after_burst() noexcept;
  void flush_outgoing(std::size_t owner) noexcept;
  void flush_all_outgoing() noexcept;

  // activation.cpp
  static void activate(Slot& slot, machine::Stack* me);
  static void activate_traced(Slot& slot, machine::Stack* me);
  static void begin_turn(Core* core, Slot& slot, machine::Stack* me);
  template <bool kIsolated>
  static void deliver_batch_of(Slot& slot, machine::Stack* me);
  static void deliver_batch(Slot& slot, machine::Stack* me);
  static void deliver_isolated(Slot& slot, machine::Stack* me);
  static void before_messages(Slot& slot, machine::Stack* me);
  /// The exit of one that is unwound, or was to be.
  [[nodiscard]] Exit unwound(Slot& slot) const noexcept;
  static void end_unwound(Slot& slot, machine::Stack* me, std::uint32_t handled);
  static void end_failed(Slot& slot, machine::Stack* me, std::uint32_t handled);
  static void end_asked(Slot& slot, machine::Stack* me, std::uint32_t handled);
  static void end_between_turns(Slot& slot, const Core& core);
  void requeue(Slot& slot);
  Signal* look_through(Slot& slot, Signal*& last, LookAt look_at, void* context);
  void count_dropped(Pid receiver, const SignalOps& ops, DropCause cause) noexcept;
  static std::uint32_t discard_in_hand(Slot& slot, machine::Stack* me, DropCause cause);
  // ending.cpp
  /// Messages that are yet to be counted; and what was in hand, for who tells of it.
  struct Settled {
    std::uint32_t handled = 0;
    std::uint32_t dropped = 0;
    std::string_view in_hand = {};
    bool trapped = false;  // its state is not destroyed: its memory is given back as it is
    Told* told = nullptr;  // when it had crashed before it trapped; becomes finish's
  };
  static void finish(Slot& slot, Exit exit, Settled&& settled);
  static bool restart_in_place(Slot& slot, const Exit& exit, Settled& settled,
                               std::unique_ptr<Told>& told);
  /// For the log; null when it is not to be told (reporter.hpp).
  [[nodiscard]] static std::unique_ptr<Told> describe(const Slot& slot, const Exit& exit,
                                                      const Settled& settled) noexcept;
  [[nodiscard]] static Exit read_out(std::exception_ptr failure) noexcept;
  static Core* back_inside(machine::Stack* me) noexcept;
  static Core* park_traced(std::uint64_t epoch, machine::Nanoseconds timeout, WaitsFor what);
  static Core* park_on(Core* core, std::uint64_t epoch, machine::Nanoseconds timeout);
  void block(Slot& slot);
  void block_traced(Slot& slot);
  void block_slowly(Slot& slot);
  template <bool kTraced>
  void block_as(Slot& slot);
  void reserve_spare();
  [[nodiscard]] machine::Stack* take_stack(std::uint8_t size_class);
  [[noreturn]] void switch_to(Slot& slot);
  void change_stack(Slot& slot, machine::Stack* me);
  static void arm_timeout(Slot& slot, machine::Stack* me, std::uint32_t handled);

  // compartment.cpp
  static void enter_compartment(const Slot& slot) noexcept;
  static void leave_compartment() noexcept;
  [[nodiscard]] static Exit read_out_isolated(std::exception_ptr failure) noexcept;
  static void admit_over_wall(Signal& signal);
  static void take_over_wall(const Slot& slot, Signal* signal);
  static void destroy_isolated(Slot& slot, std::unique_ptr<Told>& told, const Settled& settled);
  [[noreturn]] static void go_on_after_trap(machine::Stack* me);
  static void end_trapped(Slot& slot, machine::Stack* me, Trap& trap);

  // preempt.cpp
  void end_turn_early() noexcept;
  void set_up_preemption() noexcept;
  void start_preemption() const noexcept;
  static void stop_preemption() noexcept;
  [[nodiscard]] machine::Nanoseconds in_slice(machine::Nanoseconds now) noexcept;
  [[nodiscard]] bool has_something_to_do(machine::Nanoseconds now) const noexcept;
  [[nodiscard]] bool others_wait(machine::Nanoseconds now) const noexcept;
  void pace_checks(machine::Nanoseconds elapsed) noexcept;
  void requeue_by_time(Slot& slot);
  static void allocation_is_due(bool may_throw);

  // balance.cpp
  bool wants_over(Slot& slot) noexcept;
  bool moves_to_sender(Slot& slot) noexcept;
  [[nodiscard]] bool worth_sharing() const noexcept;
  void share_work() noexcept;
  void give_work(Core& to) noexcept;
  void ask_for_work() noexcept;

  void become_current() noexcept;
  static void resign() noexcept;

  // roaming.cpp
  static void roam_entry(void* stack);
  [[noreturn]] static void roam(machine::Stack* me);
  void pass_on() noexcept;
  [[nodiscard]] Slot* next_of_both();
  [[nodiscard]] Slot* take_local() noexcept;
  [[nodiscard]] Slot* take_roamer();
  void take_on(Slot& slot);
  void take_back(Slot& slot) noexcept;
  void let_go();
  void put_down(Slot& slot) noexcept;
  void look_at_timeout(Slot& slot) noexcept;
  bool end_roamer(Slot& slot);
  void start_in_commons(Timer& timer, machine::Nanoseconds delay) noexcept;
  void cancel_in_commons(Timer& timer) noexcept;

  // rounds.cpp
  static void rounds_entry(void* stack);
  [[noreturn]] static void rounds(machine::Stack* me);
  bool begin_round();
  [[nodiscard]] bool must_look_about() const noexcept;

  // stop.cpp
  void end_all_actors();
  void name_and_unwind(Slot& slot);
  bool sweep_arrivals();
  void sweep_memory() noexcept;

  Slot* free_slots_ = nullptr;
  std::size_t free_slot_count_ = 0;
  memory::Outgoing* outgoing_ = nullptr;  // by core index
  std::uint32_t outgoing_owners_ = 0;
  machine::Stack* spare_ = nullptr;      // for the next park, so that it cannot fail
  Slot* first_ = nullptr;                // to go on with on a stack of another size
  machine::EntryPoint entry_ = nullptr;  // of the loop, on a fresh stack
  std::uint32_t heard_ = 0;              // the domain's bell, as of the last turn
  machine::Nanoseconds now_ = 0;
  machine::Nanoseconds polled_ = 0;
  machine::Nanoseconds busy_since_ = 0;
  Shown<std::uint32_t> activations_left_ = 0;  // in this turn
  Shown<std::uint32_t> turns_ = 0;
  std::uint32_t given_up_ = 0;  // activations, to end the turn early
  std::uint32_t batch_ = kLeastBatch;
  bool batch_used_up_ = false;  // in this turn
  machine::Nanoseconds spin_limit_ = 20'000;
  std::uint32_t slow_turns_ = 0;
  std::uint32_t dropping_ = 0;  // user code runs that must not wait: see InTheMiddle
  std::uint64_t handled_before_ = 0;
  bool in_rounds_ = false;
  std::size_t round_left_ = 0;   // of this round, those that wait for their turn
  std::uint64_t looked_at_ = 0;  // cycles, when it last looked about between rounds
  Drive* drive_ = nullptr;       // that the calling thread runs the loop for
  Slot* roamer_ = nullptr;       // the roaming actor in hand: its right is this core's
  bool goes_on_ = false;         // and it has its turn again
  bool fair_next_ = false;       // the next of its own is chosen fairly
  bool passes_on_ = false;       // before it runs anybody, it passes on what the commons have
  std::size_t named_ = 0;        // or counted, of those that a stop has ended
  std::exception_ptr failure_;   // on its way out of a catch block
  bool unwound_ = false;
  std::uint32_t reclaimed_ = 0;
  std::uint32_t trace_epoch_ = 0;  // of the session that it follows
  std::shared_ptr<TraceSession> trace_session_;

  // The activation that preemption has last looked at, by its progress(), and since when, as of
  // the first look.
  struct Slice {
    std::uint64_t activation = UINT64_MAX;
    std::uint32_t checks_left = 1;
    std::uint32_t checks = 1;  // from one look to the next
    machine::Nanoseconds since = 0;
    machine::Nanoseconds looked = 0;
  } slice_;
  machine::Nanoseconds time_slice_ = 0;
  machine::Nanoseconds message_slice_ = 0;  // 0: off
  Slot* in_row_ = nullptr;                  // whose messages are handled one after the other
  machine::Nanoseconds in_row_since_ = 0;
  std::int64_t allocations_ = INT64_MAX;  // from one look to the next
  std::int64_t reductions_ = INT64_MAX;   // likewise
};

/// The identity of the actor in a slot, also while its exit is carried out. Owner.
[[nodiscard]] Pid pid_of(const Slot& slot) noexcept;

/// Gives a signal's memory back. Any thread.
void release_anywhere(Signal* signal) noexcept;
/// The same for a block; `core`: the caller's, or null.
void release_anywhere(void* block, std::uint16_t pool, std::uint8_t size_class,
                      Core* core) noexcept;
/// Any thread: makes an actor end at its next wait, or at once when it is waiting or idle.
[[nodiscard]] Delivery request_stop(Pid actor) noexcept;

/// The cores of the process, by index. Any thread; null when never used.
[[nodiscard]] Core* core_at(std::uint16_t index) noexcept;
/// Throws std::logic_error, which says why the running actor must not block here.
[[noreturn]] void refuse_to_block();
}  // namespace bulkhead::core
