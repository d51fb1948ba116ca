// What channels, selects, timeouts and requests to stop come to: the rules of
// docs/guide/channels.md, with plain queues and lines, for select_fuzz.cpp. It is told what each
// worker begins, and what came of it, in the order in which it came, and says where that is wrong.
//
// A worker in an operation is in one of three states:
//   decided    its result is known, it only has to come back
//   open       it waits, in the line of each of its arms' channels
//   ended      its wait is over without a result: it is to be unwound, or its select begins again
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

namespace bulkhead::wait::reference {

using Clock = std::chrono::steady_clock;

enum class ArmKind { kReceive, kSend, kAfter, kStop, kMessage };

inline constexpr int kNone = -1;

struct Arm {
  ArmKind kind = ArmKind::kReceive;
  int channel = kNone;   // to receive from or to send to; kNone: an empty handle
  int value = 0;         // that it offers
  unsigned wanted = 0;   // of messages: 1 for each low one, 2 for each high one, or both
  bool at_once = false;  // of time: no time at all
};

/// How long it may wait. kLimit is the same time for all.
enum class Patience { kTry, kNoTime, kLimit, kForever };

struct Operation {
  std::vector<Arm> arms;
  Patience patience = Patience::kForever;
  bool selects = true;  // or it is a send, a receive or a mailbox's next, with one arm
};

/// kNothing: time was up, or nothing was ready at once. kRefused: a std::logic_error. kStopped: it
/// could not wait, in a destructor.
enum class Came { kNothing, kRefused, kDone, kClosed, kStopped };

struct Result {
  Came came = Came::kNothing;
  int arm = kNone;
  int value = 0;  // that was received, or of the message
  friend bool operator==(const Result&, const Result&) = default;
};

/// What is wrong, and with whom.
struct Fault {
  const char* what;
  int worker;
};

class Reference {
 public:
  explicit Reference(std::size_t workers) : workers_(workers) {}

  // --- channels ---

  [[nodiscard]] int open(std::optional<std::size_t> capacity) {
    channels_.emplace_back().capacity = capacity.value_or(std::numeric_limits<std::size_t>::max());
    return static_cast<int>(channels_.size()) - 1;
  }
  void add_sender(int channel) { ++at(channel).senders; }
  void add_receiver(int channel) { ++at(channel).receivers; }
  void drop_sender(int channel) {
    if (--at(channel).senders == 0) close(channel);
  }
  void drop_receiver(int channel) {
    if (--at(channel).receivers != 0) return;
    close(channel);
    at(channel).values.clear();
  }
  void close(int channel) {
    at(channel).closed = true;
    while (!at(channel).to_receive.empty()) tell_closed(at(channel).to_receive.front());
    while (!at(channel).to_send.empty()) tell_closed(at(channel).to_send.front());
  }
  [[nodiscard]] bool closed(int channel) { return at(channel).closed; }
  [[nodiscard]] std::size_t values() const {
    std::size_t sum = 0;
    for (const Channel& channel : channels_) sum += channel.values.size();
    return sum;
  }

  // --- workers ---

  /// A new one in this place.
  void begin_life(int worker) { at_worker(worker) = Worker(); }

  /// Then comes an attempt.
  void begin(int worker, Operation operation, Clock::duration limit) {
    Worker& me = at_worker(worker);
    me.operation = std::move(operation);
    me.busy = true;
    me.fresh = true;
    me.timed = false;
    me.deadline = Clock::time_point::max();
    const bool limited = me.operation.patience == Patience::kLimit ||
                         std::ranges::any_of(me.operation.arms, [](const Arm& arm) {
                           return arm.kind == ArmKind::kAfter && !arm.at_once;
                         });
    if (limited) me.deadline = Clock::now() + limit;
  }

  /// The worker looks at its arms, one after the other, and waits if none is ready.
  void attempt(int worker) {
    Worker& me = at_worker(worker);
    if (me.gone && !me.fresh) return;  // it looks again when it could not wait
    if (me.open) {
      require_expired(worker);
      me.timed = true;
      leave_lines(worker);
    } else if (me.result) {
      fault("a select begins again although an arm was chosen", worker);
    } else if (me.fresh) {
      me.fresh = false;
    } else if (Clock::now() >= me.deadline) {
      doubtful_ = true;  // it may find its time up, or may not
    }
    me.waited = false;
    me.result = choose(worker);
    if (!me.result && me.gone) me.result = choose_without_waiting(me);
    if (me.result) return;
    me.waited = true;
    if (me.stop_asked) return;  // unwound, for it does not hear that
    me.open = true;
    for (std::size_t i = 0; i < me.operation.arms.size(); ++i) {
      const Arm& arm = me.operation.arms[i];
      if (arm.channel == kNone) continue;
      line_of(arm).push_back({worker, static_cast<int>(i)});
    }
  }

  void end(int worker, const Result& result) {
    Worker& me = at_worker(worker);
    const bool takes = !me.operation.selects && has_arm(me, ArmKind::kMessage);
    if (takes && !me.open && !me.result) {
      me.result = take_message(me, me.operation.arms[0].wanted);  // that ended its wait
      if (me.result) me.result->arm = 0;
    }
    if (me.open) {
      // A send, receive or next that came back by itself.
      if (result != Result() || me.operation.selects) fault("it was to go on waiting", worker);
      require_expired(worker);
      leave_lines(worker);
    } else if (!me.result) {
      fault("it was to be unwound, or to wait", worker);
    } else if (*me.result != result) {
      fault("it came to something else", worker);
    }
    finish(me);
  }

  /// What was handed to it goes back. It may begin more, in destructors.
  void unwound(int worker) {
    Worker& me = at_worker(worker);
    if (!me.stop_asked) fault("it was unwound although nobody has stopped it", worker);
    if (me.busy) {
      if (!me.waited) fault("it was unwound where it did not wait", worker);
      if (hears_stop(me)) fault("it was unwound although it hears requests to stop", worker);
      if (me.result && me.result->came == Came::kDone) {
        const Arm& arm = me.operation.arms[static_cast<std::size_t>(me.result->arm)];
        if (arm.kind == ArmKind::kReceive) put_back(arm.channel, me.result->value);
      }
    }
    finish(me);
    me.gone = true;
  }

  void tell(int worker, unsigned kind, int number) {
    Worker& me = at_worker(worker);
    me.mail.push_back({kind, number});
    if (!me.open || !has_arm(me, ArmKind::kMessage)) return;
    // A select looks at all of its arms again, whatever came.
    if (me.operation.selects || (me.operation.arms[0].wanted & kind) != 0) end_wait(worker);
  }

  void request_stop(int worker) {
    Worker& me = at_worker(worker);
    me.stop_asked = true;
    if (me.open) end_wait(worker);
  }

  [[nodiscard]] bool gone(int worker) { return at_worker(worker).gone; }
  [[nodiscard]] bool busy(int worker) { return at_worker(worker).busy; }
  [[nodiscard]] bool waits(int worker) { return at_worker(worker).open; }
  [[nodiscard]] bool stop_asked(int worker) { return at_worker(worker).stop_asked; }
  [[nodiscard]] bool expired(int worker) {
    return waits(worker) && Clock::now() >= at_worker(worker).deadline;
  }
  /// In an operation, what has been decided.
  [[nodiscard]] std::optional<Result> result(int worker) { return at_worker(worker).result; }

  /// The first fault.
  [[nodiscard]] const std::optional<Fault>& first_fault() const { return fault_; }
  /// So much time has passed that somebody's limit may have come in between.
  [[nodiscard]] bool doubtful() const { return doubtful_; }

 private:
  struct Place {
    int worker;
    int arm;
  };
  struct Channel {
    std::size_t capacity = 0;
    std::deque<int> values;
    std::deque<Place> to_receive;
    std::deque<Place> to_send;
    int senders = 1;
    int receivers = 1;
    bool closed = false;
  };
  struct Message {
    unsigned kind;
    int number;
  };
  struct Worker {
    std::deque<Message> mail;
    Operation operation;
    std::optional<Result> result;
    Clock::time_point deadline;
    bool busy = false;   // in an operation
    bool fresh = false;  // which has not looked at its arms
    bool open = false;
    bool waited = false;  // since it has last looked
    bool timed = false;   // the limit has passed
    bool stop_asked = false;
    bool gone = false;
  };

  [[nodiscard]] Channel& at(int channel) { return channels_[static_cast<std::size_t>(channel)]; }
  [[nodiscard]] Worker& at_worker(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  [[nodiscard]] std::deque<Place>& line_of(const Arm& arm) {
    Channel& channel = at(arm.channel);
    return arm.kind == ArmKind::kReceive ? channel.to_receive : channel.to_send;
  }
  [[nodiscard]] const Arm& arm_of(const Place& place) {
    return at_worker(place.worker).operation.arms[static_cast<std::size_t>(place.arm)];
  }
  [[nodiscard]] static bool has_arm(const Worker& worker, ArmKind kind) {
    return std::ranges::any_of(worker.operation.arms,
                               [kind](const Arm& arm) { return arm.kind == kind; });
  }
  [[nodiscard]] static bool hears_stop(const Worker& worker) {
    return has_arm(worker, ArmKind::kStop);
  }

  void fault(const char* what, int worker) {
    if (!fault_ && !doubtful_) fault_ = Fault{what, worker};
  }
  void require_expired(int worker) {
    if (Clock::now() < at_worker(worker).deadline) {
      fault("its wait ended although nothing had come and its time was not up", worker);
    }
  }

  static void finish(Worker& worker) {
    worker.busy = false;
    worker.result.reset();
    worker.open = false;
  }

  void leave_lines(int worker) {
    at_worker(worker).open = false;
    for (const Arm& arm : at_worker(worker).operation.arms) {
      if (arm.channel == kNone) continue;
      std::erase_if(line_of(arm), [worker](const Place& place) { return place.worker == worker; });
    }
  }

  // Something ends its wait.
  void end_wait(int worker) {
    if (Clock::now() >= at_worker(worker).deadline) doubtful_ = true;  // or time has done so
    leave_lines(worker);
  }
  void serve(const Place& place, Came came, int value) {
    end_wait(place.worker);
    at_worker(place.worker).result = Result{came, place.arm, value};
  }
  // A select looks again at all of its arms, since several may have become ready.
  void tell_closed(Place place) {
    if (at_worker(place.worker).operation.selects) {
      end_wait(place.worker);
    } else {
      serve(place, Came::kClosed, 0);
    }
  }

  void put_back(int channel, int value) {
    if (!at(channel).to_receive.empty()) {
      const Place receiver = at(channel).to_receive.front();
      serve(receiver, Came::kDone, value);
    } else {
      at(channel).values.push_front(value);
    }
  }

  // --- which arm is ready, and what it comes to ---

  [[nodiscard]] std::optional<Result> choose(int worker) {
    Worker& me = at_worker(worker);
    bool can_be_ready = false;
    for (std::size_t i = 0; i < me.operation.arms.size(); ++i) {
      const Arm& arm = me.operation.arms[i];
      std::optional<Result> result;
      switch (arm.kind) {
        case ArmKind::kReceive:
          if (arm.channel != kNone) result = receive(arm.channel);
          break;
        case ArmKind::kSend:
          if (arm.channel != kNone) result = send(arm.channel, arm.value);
          break;
        case ArmKind::kAfter:
          if (arm.at_once || me.timed) result = Result{Came::kDone};
          break;
        case ArmKind::kStop:
          if (me.stop_asked) result = Result{Came::kDone};
          me.stop_asked = me.gone && me.stop_asked;
          break;
        case ArmKind::kMessage:
          result = take_message(me, arm.wanted);
          break;
      }
      if (result) {
        result->arm = static_cast<int>(i);
        return result;
      }
      const bool of_channel = arm.kind == ArmKind::kReceive || arm.kind == ArmKind::kSend;
      can_be_ready = can_be_ready || !of_channel || arm.channel != kNone;
    }
    const Patience patience = me.operation.patience;
    if (patience == Patience::kTry || patience == Patience::kNoTime) return Result();
    if (patience == Patience::kLimit && me.timed) return Result();
    if (patience == Patience::kForever && !can_be_ready) return Result{Came::kRefused};
    return std::nullopt;
  }

  // In a destructor: the first arm that could ever be ready.
  [[nodiscard]] static Result choose_without_waiting(const Worker& worker) {
    const bool limited = worker.operation.patience == Patience::kLimit;
    if (worker.operation.selects ? limited : has_arm(worker, ArmKind::kMessage)) return Result();
    int first = 0;
    for (const Arm& arm : worker.operation.arms) {
      if (arm.kind == ArmKind::kAfter) return Result{Came::kDone, first};
      if (arm.kind == ArmKind::kMessage || arm.channel != kNone) break;
      ++first;
    }
    return Result{Came::kStopped, first};
  }

  [[nodiscard]] std::optional<Result> receive(int number) {
    Channel& channel = at(number);
    if (!channel.values.empty()) {
      const int value = channel.values.front();
      channel.values.pop_front();
      // The sender that has waited longest has room now.
      if (channel.values.size() < channel.capacity && !channel.to_send.empty()) {
        const Place sender = channel.to_send.front();
        channel.values.push_back(arm_of(sender).value);
        serve(sender, Came::kDone, 0);
      }
      return Result{Came::kDone, kNone, value};
    }
    if (!channel.to_send.empty()) {
      const Place sender = channel.to_send.front();
      const int value = arm_of(sender).value;
      serve(sender, Came::kDone, 0);
      return Result{Came::kDone, kNone, value};
    }
    if (channel.closed) return Result{Came::kClosed};
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Result> send(int number, int value) {
    Channel& channel = at(number);
    if (channel.closed) return Result{Came::kClosed};
    if (!channel.to_receive.empty()) {
      const Place receiver = channel.to_receive.front();
      serve(receiver, Came::kDone, value);
      return Result{Came::kDone};
    }
    if (channel.values.size() >= channel.capacity) return std::nullopt;
    channel.values.push_back(value);
    return Result{Came::kDone};
  }

  [[nodiscard]] static std::optional<Result> take_message(Worker& worker, unsigned wanted) {
    const auto message = std::ranges::find_if(
        worker.mail, [wanted](const Message& one) { return (one.kind & wanted) != 0; });
    if (message == worker.mail.end()) return std::nullopt;
    const Result result{Came::kDone, kNone, message->number};
    worker.mail.erase(message);
    return result;
  }

  std::vector<Channel> channels_;
  std::vector<Worker> workers_;
  std::optional<Fault> fault_;
  bool doubtful_ = false;
};

}  // namespace bulkhead::wait::reference
