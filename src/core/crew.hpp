// A domain's threads, and how a core that is stuck goes on in another one.
//
// A worker is a thread. It runs the loop of a core; or the handler that this core has left behind;
// or it is kept to be used again.
//
// | worker  | meaning                                      | next                   | moved by    |
// |---------|----------------------------------------------|------------------------|-------------|
// | Running | runs a core's loop and handlers              | Away (hand-over)       | watch       |
// |         |                                              | Ended (the loop ended) | itself      |
// | Away    | runs a handler; its core runs in another one | Spare, Ended (home)    | itself      |
// | Spare   | waits; so it begins                          | Running                | watch, run  |
// |         |                                              | Ended (stop)           | itself      |
// | Ended   | is joined by who ends next, or by end()      |                        |             |
//
// Rules
//  H1  The watch takes a core from a thread that runs the user's code only (sync/seat.hpp), under
//      the lock; from then on it owns all that is the core's, until it gives the core to another
//      worker, or back.
//  H2  What goes along with the core: everything but the running actor and the stack that it runs
//      on. The actor's turn is Away; its slot stays the core's, and nobody resumes or moves it.
//  H3  An actor that is away comes home at the first call into the runtime, or when its handler
//      returns or throws: it leaves its stack, and its thread, which no longer runs on that stack,
//      then pushes the homecoming signal into its inbox, once. The core resumes it like any other.
//  H4  What cannot be left behind: actors with a thread of their own, and code of the runtime, such
//      as hooks and destructors of messages that are dropped.
//  H5  The watch looks at a core's progress from afar. When it has taken the core it looks again:
//      who runs now may have begun since, and is not the one that was seen.
// Checked by sync/seat_model.cpp and away_model.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bulkhead/stats.hpp"
#include "core/core.hpp"
#include "machine/wake_timer.hpp"
#include "sync/mutex.hpp"
#include "sync/thread.hpp"
#include "sync/vigil.hpp"

namespace bulkhead::core {

class Crew;

/// A thread of a domain. Under the crew's lock, but for what its thread alone uses.
struct Worker {
  explicit Worker(Crew& its_crew);
  ~Worker();

  Crew& crew;
  sync::Thread thread;
  ThreadSeat* seat = nullptr;  // the thread's own
  Core* core = nullptr;        // that it runs, or is to run
  Worker* next_spare = nullptr;
  bool arrived = false;  // runs its first loop, or has run it
  bool bound = false;    // to one CPU

  // Of the actor that is away in this thread, which looks at them when it faults (faults.cpp): the
  // others are written before `away`, which is published.
  Shown<Slot*> away = nullptr;
  Shown<Pid> away_pid;
  Shown<const ActorClass*> away_kind = nullptr;
  Shown<machine::Stack*> away_stack = nullptr;

  // Its thread.
  machine::Stack own;                // stands for the thread's own stack while a loop runs
  Signal* homecoming = nullptr;      // in the frame of the actor that comes home
  const std::unique_ptr<Trap> trap;  // where what is known of one is noted
};

class Crew {
 public:
  explicit Crew(Domain& domain) noexcept : domain_(domain) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // --- the domain --------------------------------------------------------------------------------

  /// Starts a thread for a core's loop, and returns when it runs. Throws std::system_error.
  void run(Core& core);
  /// Threads will be lent. Throws std::bad_alloc.
  void prepare_for_lent_threads();
  /// Runs a core's loop on the calling thread, until `drive` is over. One thread at a time.
  void lend_thread(Core& core, Drive& drive) noexcept;
  /// Begins to look after cores that are stuck for `after`. Throws std::system_error.
  void start_watch(machine::Nanoseconds after);
  void stop_watch() noexcept;
  /// When all loops are told to end: ends and joins all threads.
  void end() noexcept;

  // --- any thread --------------------------------------------------------------------------------

  [[nodiscard]] bool empty() noexcept;
  void count(Stats& stats) const;
  /// Names the actors that are away.
  void report_away() const;

  // --- its workers -------------------------------------------------------------------------------

  void core_sleeps(const Core& core) noexcept {
    if (!core.solo) vigil_.sleeps();
  }
  void core_wakes(const Core& core) noexcept {
    if (!core.solo) vigil_.wakes(bed_);
  }
  /// For a worker that has come inside and found nothing: its core after all, null if that is gone.
  [[nodiscard]] Core* look_again(const Worker& me) const noexcept;

 private:
  struct Seen {
    std::uint64_t progress = 0;
    machine::Nanoseconds since = 0;
    std::uint32_t looks = 0;
    bool held_up = false;  // it could not go on, which has been counted
  };
  // A core that could not be given another thread.
  struct Shortage {
    Pid actor;
    const ActorClass* kind = nullptr;  // null when there is nothing to tell
    std::size_t core = 0;
    std::array<char, 200> why{};
    bool told = false;  // since a core could go on for the last time
    machine::Nanoseconds quiet_until = 0;
  };
  enum class Look : std::uint8_t { kAwake, kHopeless, kAsleep };
  enum class Anyway : bool { kNo, kYes };

  void main(Worker& me);
  [[nodiscard]] Core* next_core(Worker& me);
  [[nodiscard]] bool is_kept(Worker& me) noexcept;
  void end_worker(Worker& me) noexcept;
  void dress(Worker& me, Core& core);
  void come_home(Worker& me);
  Worker& take_worker();
  void keep_spare(Worker& worker) noexcept;

  void keep_watch();
  [[nodiscard]] machine::Nanoseconds first_look() const noexcept;
  Look look_at(Core& core, Seen& seen) noexcept;
  Look hand_over(Core& core, Seen& seen, Anyway anyway) noexcept;
  Worker* part(Core& core, Worker& old, Seen& seen) noexcept;
  void note_shortage(const Core& core, Seen& seen, const char* what, const char* why) noexcept;
  static void report(const Shortage& shortage) noexcept;

  // Where the watch sleeps. It is woken a little later, by the kernel: who wakes it has work to do.
  // Who finds it asleep also finds the timer, which stays until the last worker has ended.
  class Bed {
   public:
    void make(machine::Nanoseconds delay) {
      timer_.emplace();
      delay_ = delay;
    }
    void remove() noexcept { timer_.reset(); }
    void wake() noexcept { timer_->set(delay_); }
    void wake_now() noexcept { timer_->set(0); }
    void wait() noexcept { timer_->wait(); }

   private:
    std::optional<machine::WakeTimer> timer_;
    machine::Nanoseconds delay_ = 0;
  };

  Domain& domain_;
  sync::Vigil<RealSync, Bed> vigil_;
  Bed bed_;
  mutable sync::Mutex lock_;  // for all that follows
  sync::Condition changed_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Worker> lent_;  // stands for threads that are lent
  Worker* spares_ = nullptr;
  Worker* last_ended_ = nullptr;  // whose thread nobody has joined yet
  std::size_t spare_count_ = 0;
  std::size_t away_count_ = 0;
  std::uint64_t handed_over_ = 0;
  std::uint64_t held_up_ = 0;
  Shortage shortage_;
  bool ending_ = false;
  bool watch_ends_ = false;
  sync::Thread watch_;
  machine::Nanoseconds after_ = machine::kNever;
  std::vector<Seen> seen_;
};

}  // namespace bulkhead::core
