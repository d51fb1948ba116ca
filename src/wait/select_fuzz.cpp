// C6, C11. Fuzz target: programs of a few green threads that send, receive, select, close, let ends
// go, stop each other, send each other messages and take them. They come to what
// select_reference.hpp says.
//
// All of it runs on one core, and each worker does what it is given until it waits, so the order is
// known. A driver gives the work, and does some itself; it lets the workers run after a step, or
// after several: so a wait may be ended by several causes before its worker runs. Only time is not
// in its hand. Most programs have limits that never pass; in some they all pass, in a step of its
// own, and a program in which one may have passed before is given up.
//
// With BULKHEAD_FUZZ_TRACE=1 each step is told on stderr.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "wait/select_work.hpp"

namespace bulkhead::wait::reference {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostSteps = 200;
constexpr auto kShort = 5ms;  // passes, in programs in which time may
constexpr auto kLong = 60s;   // never does

struct Worker {
  std::deque<Work> todo;
  Address<Box> address;
  Box* mailbox = nullptr;
  core::Waiter waiter;
  bool idle = false;  // waits for work
  bool ended = true;
  std::size_t values = 0;  // in its frame
};

class Program {
 public:
  explicit Program(Bytes bytes) : run_(bytes) {}

  void run() {
    const unsigned first = run_.bytes.next();
    workers_in_use_ = 1 + static_cast<int>(first % kMostWorkers);
    times_left_ = first / 4 % 16 == 0 ? 2 : 0;
    run_.limit = times_left_ > 0 ? std::chrono::nanoseconds(kShort) : kLong;
    for (Ends& ends : ends_) open(ends, run_.bytes.next());
    revive();
    for (; run_.step < kMostSteps && !run_.bytes.empty() && !doubtful(); ++run_.step) step();
    settle();
    wind_up();
  }

 private:
  // --- the driver ---

  void step() {
    const unsigned what = run_.bytes.next();
    const int worker = static_cast<int>(what / 16 % 4) % workers_in_use_;
    if (what % 16 < 8) {
      give(worker, read_transfer(run_.bytes));
    } else if (what % 16 < 11) {
      attempt_here(read_transfer(run_.bytes));
    } else if (what % 16 == 11) {
      give(worker, read_other(run_.bytes, workers_in_use_));
    } else if (what % 16 == 14) {
      reopen(run_.bytes.next());
    } else if (what % 16 == 15 && times_left_ > 0) {
      let_time_pass();
    } else {
      perform(kDriver, read_other(run_.bytes, workers_in_use_));
    }
    if (what / 64 < 2) settle();
  }

  void open(Ends& ends, unsigned how) {
    std::optional<std::size_t> capacity;
    if (how % 4 != 3) capacity = how % 4;
    auto [sender, receiver] = capacity ? make_channel<Value>(*capacity) : make_channel<Value>();
    ends = {run_.expected.open(capacity), std::move(sender), std::move(receiver)};
    run_.trace("channel %d, capacity %zu", ends.number, capacity.value_or(core::kNoCapacity));
  }

  // Another channel in place of one that is closed.
  void reopen(unsigned how) {
    Ends* ends = &ends_[how / 4 % kChannels];
    for (Ends& other : ends_) {
      if (run_.expected.closed(other.number)) ends = &other;
    }
    ends->drop_sender(run_.expected);
    ends->drop_receiver(run_.expected);
    open(*ends, how);
  }

  void give(int who, Work work) {
    Worker& worker = at(who);
    if (worker.ended || worker.todo.size() >= 2) return;
    worker.todo.push_back(std::move(work));
    if (!worker.idle) return;
    worker.idle = false;
    if (core::claim(worker.waiter)) core::wake(worker.waiter);
  }

  // The driver does not wait, and has no mailbox.
  void attempt_here(Work work) {
    work.patience = Patience::kTry;
    for (ArmChoice& arm : work.arms) {
      if (arm.kind == ArmKind::kMessage) arm = {.off = true};
    }
    perform(kDriver, work);
  }

  // All limits that run.
  void let_time_pass() {
    settle();
    --times_left_;
    run_.trace("time passes");
    this_actor::sleep_for(run_.limit + 1ms);
    const auto patience = Clock::now() + 10s;
    for (int i = 0; i < workers_in_use_; ++i) {
      while (run_.expected.expired(i) && !doubtful()) {
        if (Clock::now() > patience) run_.fail("time is up, and it still waits", i);
        this_actor::yield();
      }
    }
    settle();
  }

  // Lets the workers run until each of them waits.
  void settle() {
    int round = 0;
    for (int i = 0; i < workers_in_use_ && !doubtful();) {
      if (rests(i)) {
        ++i;
        continue;
      }
      if (++round == 1000) run_.fail("it still waits, but should not", i);
      this_actor::yield();
      i = 0;
    }
    this_actor::yield();  // who rests does nothing
    std::size_t values = run_.expected.values();
    for (int i = 0; i < workers_in_use_; ++i) {
      if (!rests(i) && !doubtful()) run_.fail("it does not rest", i);
      values += at(i).values;
    }
    if (!doubtful() && values != Value::alive) {
      std::fprintf(stderr, "%zu values are there, and should be %zu\n", Value::alive, values);
      run_.fail("a value was lost, or is there twice", kDriver);
    }
    revive();
  }

  [[nodiscard]] bool rests(int who) {
    Worker& worker = at(who);
    if (worker.ended) return true;
    if (run_.expected.busy(who)) return run_.expected.waits(who);
    return worker.idle && !run_.expected.stop_asked(who);
  }

  // A new worker in place of each that has ended.
  void revive() {
    for (int i = 0; i < workers_in_use_; ++i) {
      Worker& worker = at(i);
      if (!worker.ended) continue;
      worker = Worker();
      worker.ended = false;
      run_.expected.begin_life(i);
      SpawnOptions options;
      options.pinned = true;
      worker.address = spawn_with<Box>(options, [life = Life(*this, i)](Box& mailbox) {
        life.program().work(life.who(), mailbox);
      });
    }
    this_actor::yield();
  }

  void wind_up() {
    for (int i = 0; i < workers_in_use_; ++i) {
      for (int round = 0; !at(i).ended; ++round) {
        if (round == 1000) run_.fail("it was stopped, and goes on", i);
        at(i).todo.clear();
        if (!run_.expected.stop_asked(i) || doubtful()) stop(i);
        this_actor::yield();
      }
    }
    for (std::size_t i = 0; i < kChannels; ++i) {
      Work work;
      work.selects = false;
      work.arms.push_back({.channel = i});
      for (std::size_t left = run_.expected.values() + 1; left > 0 && !doubtful(); --left) {
        attempt_here(work);
      }
      ends_[i].drop_sender(run_.expected);
      ends_[i].drop_receiver(run_.expected);
    }
    if (Value::alive != 0) run_.fail("a value is left", kDriver);
    if (doubtful()) run_.trace("given up");
  }

  // --- workers ---

  /// Part of a worker's state: ends with it.
  class Life {
   public:
    Life(Program& program, int who) : program_(&program), who_(who) {}
    Life(Life&& other) noexcept
        : program_(std::exchange(other.program_, nullptr)), who_(other.who_) {}
    Life& operator=(Life&&) = delete;
    ~Life() {
      if (program_ != nullptr) program_->ended(who_);
    }
    [[nodiscard]] Program& program() const { return *program_; }
    [[nodiscard]] int who() const { return who_; }

   private:
    Program* program_;
    int who_;
  };

  void work(int who, Box& mailbox) {
    Worker& me = at(who);
    me.mailbox = &mailbox;
    struct Last {
      ~Last() { program.work_off(who); }
      Program& program;
      int who;
    } last{*this, who};
    for (;;) {
      while (me.todo.empty()) {
        core::Wait wait;
        me.waiter = wait.waiter();
        me.idle = true;
        wait.park(kForever);
        if (me.todo.empty() && !doubtful()) run_.fail("its wait for work ended by itself", who);
      }
      const Work work = std::move(me.todo.front());
      me.todo.pop_front();
      perform(who, work);
    }
  }

  // What is left to do, in a destructor, where nothing waits.
  void work_off(int who) {
    if (!run_.expected.gone(who)) run_.expected.unwound(who);
    run_.check();
    while (!at(who).todo.empty() && !doubtful()) {
      const Work work = std::move(at(who).todo.front());
      at(who).todo.pop_front();
      perform(who, work);
    }
  }

  void ended(int who) {
    run_.trace("%d has ended", who);
    if (!run_.expected.gone(who)) run_.expected.unwound(who);
    at(who).ended = true;
    run_.check();
  }

  // --- what anybody does ---

  void perform(int who, const Work& work) {
    Ends& ends = ends_[work.channel];
    switch (work.what) {
      case What::kTransfer:
        transfer(who, work);
        break;
      case What::kClose:
        if (!ends.sender) break;
        run_.trace("%d closes %d", who, ends.number);
        run_.expected.close(ends.number);
        ends.sender.close();
        break;
      case What::kDropSender:
        run_.trace("%d drops the sender of %d", who, ends.number);
        ends.drop_sender(run_.expected);
        break;
      case What::kDropReceiver:
        run_.trace("%d drops the receiver of %d", who, ends.number);
        ends.drop_receiver(run_.expected);
        break;
      case What::kStop:
        run_.trace("%d stops %d", who, work.worker);
        stop(work.worker);
        break;
      case What::kTell:
        tell(who, work);
        break;
    }
    run_.check();
  }

  void stop(int who) {
    const Worker& worker = at(who);
    if (!worker.ended) run_.expected.request_stop(who);
    const Delivery delivery = bulkhead::request_stop(worker.address);
    if (delivery != (worker.ended ? Delivery::kGone : Delivery::kQueued)) {
      run_.fail("a request to stop was not delivered, or was", who);
    }
  }

  void tell(int who, const Work& work) {
    if (at(work.worker).ended) return;
    const int number = ++run_.numbers;
    run_.trace("%d tells %d, kind %u, number %d", who, work.worker, work.kind, number);
    run_.expected.tell(work.worker, work.kind, number);
    const auto to = at(work.worker).address;
    const Delivery delivery = work.kind == kLow ? to.send(Low{number}) : to.send(High{number});
    if (delivery != Delivery::kQueued) run_.fail("a message was not delivered", work.worker);
  }

  void transfer(int who, const Work& work) {
    Frame frame(run_, ends_, work);
    const Arm& first = frame.operation.arms[0];
    if (!work.selects && first.kind != ArmKind::kMessage && first.channel == kNone) return;
    struct Account {
      ~Account() {
        if (!done) program.is_unwound(who, frame);
        program.at(who).values = 0;
      }
      Program& program;
      int who;
      Frame& frame;
      bool done = false;
    } account{*this, who, frame};
    at(who).values = frame.values.size();
    tell_of(who, frame.operation);
    run_.expected.begin(who, frame.operation, run_.limit);
    const Result result = work.selects ? Select(run_, who, frame, work, at(who).mailbox)()
                                       : Pass(run_, who, frame, at(who).mailbox)();
    account.done = true;
    run_.trace("%d: came %d, arm %d, value %d", who, static_cast<int>(result.came), result.arm,
               result.value);
    if (!doubtful()) frame.check_values(who, result);
    run_.expected.end(who, result);
    run_.check();
  }

  void is_unwound(int who, const Frame& frame) {
    run_.trace("%d is unwound", who);
    if (!doubtful()) frame.check_values(who, run_.expected.result(who).value_or(Result()));
    run_.expected.unwound(who);
    run_.check();
  }

  void tell_of(int who, const Operation& operation) const {
    static constexpr const char* kKinds[] = {"receive", "send", "after", "stop", "message"};
    run_.trace("%d begins: patience %d", who, static_cast<int>(operation.patience));
    for (const Arm& arm : operation.arms) {
      run_.trace("   %s, channel %d, value %d", kKinds[static_cast<std::size_t>(arm.kind)],
                 arm.channel, arm.value);
    }
  }

  [[nodiscard]] Worker& at(int who) { return workers_[static_cast<std::size_t>(who)]; }
  [[nodiscard]] bool doubtful() const { return run_.expected.doubtful(); }

  Run run_;
  std::vector<Worker> workers_{kMostWorkers + 1};
  Ends ends_[kChannels];
  int workers_in_use_ = 0;
  int times_left_ = 0;
};

Runtime& runtime() {
  static const auto kMake = [] {
    Config config;
    config.hand_over_after = kForever;  // one step after the other, also on a busy machine
    config.cores = 1;
    config.report_faults = false;
    auto made = std::make_unique<Runtime>(config);
    made->start();
    return made;
  };
  static const std::unique_ptr<Runtime> kRuntime = kMake();
  return *kRuntime;
}

}  // namespace
}  // namespace bulkhead::wait::reference

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  namespace reference = bulkhead::wait::reference;
  if (size == 0) return 0;
  bulkhead::SpawnOptions options;
  options.pinned = true;
  auto driver = reference::runtime().spawn_joinable_with(options, [bytes, size] {
    reference::Program(reference::Bytes(std::span(bytes, size))).run();
  });
  if (!driver.join().has_value()) std::abort();
  return 0;
}
