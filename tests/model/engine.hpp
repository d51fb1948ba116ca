// The explorer behind explorer.hpp: runs executions on fibers, picks who goes next, and knows which
// executions need not be run.
//
// A thread runs until its next operation, announces it, and picks who goes next, itself or another;
// so at every pick it is known what each thread would do. Steps that do not bear on each other give
// the same result in either order. A thread sleeps (sleep sets, after Godefroid) while all that it
// could do now was tried earlier, before the steps of the others that we try now:
//
//  S1  When alternatives a, b, ... of a pick were tried in this order, a sleeps while b is tried,
//      until a step that bears on a's.
//  S2  With a bound, S1 holds only for an a that goes on where b would preempt it. Then the order
//      that is left out, b ... a, has a counterpart a, b ... with no more preemptions; in other
//      cases the counterpart may have one more, and would be beyond the bound.
//  S3  With weak memory a sleeper of which the operation is not sequentially consistent wakes only
//      to read (or come behind) messages that were stored since it fell asleep: to read an older
//      one later is to read it then. And it sleeps on when others load: to load after it is to load
//      a stale value then; unless those are rationed.
//  S4  An execution in which only sleepers are left is finished without any further choice (a
//      thread cannot be stopped in the middle: it may own things), and counted as redundant.
//
// reduction_test.cpp compares the outcomes with and without this.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explorer.hpp"
#include "fiber.hpp"
#include "memory.hpp"
#include "search.hpp"
#include "trace.hpp"

namespace bulkhead::model {

class Engine {
 public:
  Engine(const Options& options, std::function<void(Run&)> setup);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  [[nodiscard]] Result explore();
  /// The engine that explores now, or null.
  [[nodiscard]] static Engine* active() noexcept;

  // --- for Run and the functions of explorer.hpp ---
  void add_thread(std::string_view name, Run::Body body);
  void add_finally(Run::Body body) { finally_.push_back(std::move(body)); }
  [[nodiscard]] Trace& trace() noexcept { return trace_; }
  void note(std::string_view text);
  [[nodiscard]] unsigned current() const noexcept { return current_; }
  /// Does not return to a thread; the execution ends. Returns only when no thread is left to stop.
  void fail(std::string_view kind, std::string_view text);
  void* take_block(std::size_t bytes, std::size_t alignment, std::string_view name);
  void give_block(const void* block);

  // --- modelled operations (operations.cpp) ---
  [[nodiscard]] std::uint64_t run_number() const noexcept { return run_; }
  Location& create(const void* owner, const ValueType& type, std::uint64_t value);
  void destroy(Location& at);
  std::uint64_t load(Location& at, std::memory_order order);
  void store(Location& at, std::uint64_t value, std::memory_order order);
  std::uint64_t modify(const Op& op);
  bool compare(std::uint64_t& expected, const Op& op);
  void fence(std::memory_order order);
  sync::FutexWait wait(const Op& op);
  void wake(Location& at, int count);
  void spin_hint();
  void create(PlainHistory& at);
  void plain(Access access, const void* owner, std::string_view what);
  [[nodiscard]] Access read(PlainHistory& at) { return memory_.read_plain(current_, at); }
  [[nodiscard]] Access write(PlainHistory& at) { return memory_.write_plain(current_, at); }

 private:
  static constexpr unsigned kNobody = kMaxThreads;
  static constexpr unsigned kIdleTurns = 20;  // turns of a spinning loop with nothing new to see
  static constexpr unsigned kSilentHints = 1000;  // hints without an operation in between

  enum class Phase : std::uint8_t { kOff, kSetup, kStart, kRun, kFinally, kEnd };
  enum class State : std::uint8_t { kReady, kAsleep, kDone };
  // What it means to pick another thread than the current one. Idle: nobody could go, and time
  // passes for the one that is picked only; so the order of such picks always matters.
  enum class Switch : std::uint8_t { kPreempts, kFree, kIdle };

  struct Seen {
    Location* at;
    std::uint32_t id;
    std::uint64_t value;
  };

  struct Thread {
    Engine* engine = nullptr;
    std::string_view name;
    Run::Body body;
    std::unique_ptr<Fiber> fiber;
    Op pending;
    State state = State::kDone;
    bool gated = false;      // spins: goes on when something in `gate` is out of date
    bool same_loop = false;  // the turn before read the same
    unsigned hints = 0;
    unsigned idle_turns = 0;
    Tick asleep_since = 0;    // see S3
    std::vector<Seen> reads;  // since the last hint
    std::vector<Seen> gate;
  };

  struct Failure {
    std::string kind;
    std::string text;
  };

  struct Block {
    void* memory;
    std::size_t alignment;
    std::string name;
    bool given;
  };

  struct Wreck;
  static std::vector<Wreck>& wrecks();
  static std::vector<std::unique_ptr<Fiber>>& idle_fibers();

  // --- executions ---
  [[nodiscard]] bool prepare_replay(Result& result);
  void run_once();
  void reset();
  void run_phase(Phase phase);
  void start_threads();
  void run_threads();
  void end_run();
  void abandon();
  void explain(Result& result);
  [[nodiscard]] std::string mode_word() const;
  [[nodiscard]] std::string mode_text() const;
  Thread& thread(unsigned index);
  static void fiber_task(void* self);
  void run_body(Thread& self);

  // --- scheduling ---
  void announce(const Op& op);
  [[nodiscard]] unsigned pick();
  [[nodiscard]] unsigned choose(unsigned alternatives);
  [[nodiscard]] unsigned pick_among(unsigned ready, Switch how);
  [[nodiscard]] unsigned ready_threads() const;
  [[nodiscard]] unsigned idle_threads();
  void hand_over(unsigned next);
  void run_ahead(unsigned next);
  void fail_stuck();
  [[nodiscard]] bool gate_open(const Thread& thread) const;
  [[nodiscard]] bool out_of_date(const Seen& seen) const;
  [[nodiscard]] static bool in_gate(const Thread& thread, const Location* at);
  [[nodiscard]] bool awake(unsigned thread);
  void put_to_sleep(unsigned thread);
  [[nodiscard]] bool bears_on(const Op& done, bool stored, const Thread& sleeper) const;

  // --- operations ---
  [[nodiscard]] bool direct() const noexcept {
    return phase_ != Phase::kStart && phase_ != Phase::kRun;
  }
  void begin(const Op& op);
  [[nodiscard]] Option decide(const Op& op);
  void settle(const Op& op, bool stored);
  void touch(Location& at);
  void note_read(Location& at, std::uint32_t id, std::uint64_t value);
  void show(const Op& op, std::string_view result, std::string_view remark = {});
  void record(std::string_view what);
  void open_gate(Thread& self);
  void fall_asleep(const Op& op);
  [[nodiscard]] bool weak() const noexcept { return options_.weak; }
  [[nodiscard]] Freedom freedom() const noexcept {
    return {.spurious = spurious_left_ > 0, .stale = stale_left_ > 0};
  }

  Options options_;
  std::function<void(Run&)> setup_;
  Search search_;
  Memory memory_;
  Trace trace_;
  std::optional<Failure> failure_;
  std::uint64_t executions_ = 0;
  std::uint64_t redundant_executions_ = 0;

  // This execution.
  std::uint64_t run_ = 0;
  Phase phase_ = Phase::kOff;
  std::array<Thread, kMaxThreads> threads_;
  unsigned thread_count_ = 1;
  std::vector<Run::Body> finally_;
  std::vector<Block> blocks_;
  unsigned current_ = kNobody;
  Fiber host_;
  Fiber* ahead_of_ = nullptr;  // who waits for a thread to announce its next operation
  unsigned preemptions_ = 0;
  unsigned spurious_left_ = 0;
  unsigned stale_left_ = 0;
  unsigned time_outs_left_ = 0;
  Tick step_ = 1;
  bool redundant_ = false;
  bool preempts_ = false;  // the step that begins follows a preemption
  bool opened_ = false;    // the step that runs went through a gate
  unsigned asleep_ = 0;    // mask of threads, see S1
  Tick since_ = 0;         // of the step that runs, see S3
  OptionList list_;
};

}  // namespace bulkhead::model
