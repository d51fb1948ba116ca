// What workers of select_fuzz.cpp are given to do, read from bytes, and how they do it: each
// operation by the library, beside the reference, and with the same result.
#pragma once

#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bulkhead/bulkhead.hpp"
#include "wait/select_reference.hpp"

namespace bulkhead::wait::reference {

inline constexpr int kMostWorkers = 4;
inline constexpr int kDriver = kMostWorkers;
inline constexpr std::size_t kChannels = 3;

/// A value that is counted. All on one core.
class Value {
 public:
  explicit Value(int number) : number_(number) { ++alive; }
  Value(Value&& other) noexcept : number_(std::exchange(other.number_, 0)) {}
  Value& operator=(Value&& other) noexcept {
    if (this == &other) return *this;
    if (number_ != 0) --alive;
    number_ = std::exchange(other.number_, 0);
    return *this;
  }
  ~Value() {
    if (number_ != 0) --alive;
  }
  [[nodiscard]] int number() const { return number_; }  // 0 when moved from

  static inline std::size_t alive = 0;

 private:
  int number_;
};

using Received = std::expected<Value, ChannelError>;
using Sent = std::expected<void, ChannelError>;

struct Low {
  int number;
};
struct High {
  int number;
};
inline constexpr unsigned kLow = 1;
inline constexpr unsigned kHigh = 2;
using Box = Mailbox<Low, High>;

// --- what there is to do ---

enum class What { kTransfer, kClose, kDropSender, kDropReceiver, kStop, kTell };

struct ArmChoice {
  ArmKind kind = ArmKind::kReceive;
  std::size_t channel = 0;
  std::size_t value = 0;  // one of two
  unsigned wanted = 0;
  bool at_once = false;
  bool off = false;  // an empty handle
};

struct Work {
  What what = What::kTransfer;
  Patience patience = Patience::kForever;
  bool selects = true;
  bool first_again = false;  // the first arm stands at the end, too
  std::vector<ArmChoice> arms;
  std::size_t channel = 0;
  int worker = 0;
  unsigned kind = kLow;
};

/// The bytes of the input; zeros when they are used up.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return at_ >= bytes_.size(); }
  [[nodiscard]] unsigned next() { return empty() ? 0 : bytes_[at_++]; }
  [[nodiscard]] std::span<const std::uint8_t> used() const { return bytes_.first(at_); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

inline ArmChoice read_arm(unsigned which, bool selects) {
  const unsigned more = which / 8 % 4;
  ArmChoice arm;
  arm.channel = which / 8 % kChannels;
  arm.value = which / 64 % 2;
  if (which % 8 >= 3 && which % 8 <= 5) arm.kind = ArmKind::kSend;
  if (!selects) {
    if (which % 8 == 7) arm.kind = ArmKind::kMessage;
    arm.wanted = more == 0 ? kLow | kHigh : more;
    return arm;
  }
  if (which % 8 == 6) {
    arm.kind = more < 2 ? ArmKind::kAfter : ArmKind::kStop;
    arm.at_once = which / 64 == 3;
  } else if (which % 8 == 7) {
    arm.kind = more == 0 ? ArmKind::kReceive : ArmKind::kMessage;
    arm.off = more == 0;
    arm.wanted = more;
  }
  return arm;
}

inline Work read_transfer(Bytes& bytes) {
  static constexpr Patience kPatience[] = {Patience::kTry, Patience::kNoTime, Patience::kLimit,
                                           Patience::kLimit};
  const unsigned how = bytes.next();
  Work work;
  if (how / 8 % 8 < 4) work.patience = kPatience[how / 8 % 8];
  work.selects = how % 8 >= 3;
  work.first_again = how % 8 == 7;
  const unsigned arms = work.selects ? 1 + how / 64 : 1;
  for (unsigned i = 0; i < arms; ++i) work.arms.push_back(read_arm(bytes.next(), work.selects));
  return work;
}

inline Work read_other(Bytes& bytes, int workers) {
  static constexpr What kWhat[] = {What::kTell,         What::kStop,  What::kTell,
                                   What::kStop,         What::kClose, What::kDropSender,
                                   What::kDropReceiver, What::kTell};
  const unsigned how = bytes.next();
  Work work;
  work.what = kWhat[how % 8];
  work.channel = how / 8 % kChannels;
  work.worker = static_cast<int>(how / 8 % 8) % workers;
  work.kind = how / 64 % 2 == 0 ? kLow : kHigh;
  return work;
}

// --- the program that is run ---

/// The reference, and where the program is.
struct Run {
  explicit Run(Bytes given) : bytes(given) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Bytes bytes;
  Reference expected{kMostWorkers + 1};
  std::chrono::nanoseconds limit{};
  std::size_t step = 0;
  int numbers = 0;  // given to values and messages

  void check() {
    if (const auto& fault = expected.first_fault()) fail(fault->what, fault->worker);
  }

  [[noreturn]] void fail(const char* what, int who) {
    std::fprintf(stderr, "select_fuzz: step %zu, worker %d: %s\n", step, who, what);
    if (const auto result = expected.result(who)) {
      std::fprintf(stderr, "expected: came %d, arm %d, value %d\n", static_cast<int>(result->came),
                   result->arm, result->value);
    }
    std::fprintf(stderr, "input:");
    for (const std::uint8_t byte : bytes.used()) std::fprintf(stderr, " %02x", byte);
    std::fprintf(stderr, "\n");
    std::abort();
  }

  [[gnu::format(printf, 2, 3)]] void trace(const char* format, ...) const {
    static const bool kWanted = std::getenv("BULKHEAD_FUZZ_TRACE") != nullptr;
    if (!kWanted) return;
    std::fprintf(stderr, "step %zu: ", step);
    std::va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    std::fputc('\n', stderr);
  }
};

/// The two ends of a channel.
struct Ends {
  int number = 0;  // of the channel
  Sender<Value> sender;
  Receiver<Value> receiver;

  void drop_sender(Reference& expected) {
    if (!sender) return;
    expected.drop_sender(number);
    sender = {};
  }
  void drop_receiver(Reference& expected) {
    if (!receiver) return;
    expected.drop_receiver(number);
    receiver = {};
  }
};

/// What one operation needs in the frame of who does it: ends of its own, and two values.
class Frame {
 public:
  Frame(Run& run, std::span<const Ends> all, const Work& work) : run_(run) {
    operation.patience = work.patience;
    operation.selects = work.selects;
    for (int i = 0; i < 2; ++i) values.emplace_back(++run.numbers);
    for (const ArmChoice& choice : work.arms) {
      Arm arm;
      arm.kind = choice.kind;
      arm.wanted = choice.wanted;
      arm.at_once = choice.at_once;
      Ends& mine = ends.emplace_back();
      if (!choice.off) take_end(mine, all[choice.channel], choice.kind);
      if (mine.sender || mine.receiver) arm.channel = mine.number;
      if (choice.kind == ArmKind::kSend) arm.value = values[choice.value].number();
      operation.arms.push_back(arm);
    }
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    for (Ends& mine : ends) {
      mine.drop_sender(run_.expected);
      mine.drop_receiver(run_.expected);
    }
  }

  /// Only what was sent is not there any more.
  void check_values(int who, const Result& result) const {
    int sent = 0;
    if (result.came == Came::kDone) {
      const Arm& arm = operation.arms[static_cast<std::size_t>(result.arm)];
      if (arm.kind == ArmKind::kSend) sent = arm.value;
    }
    std::size_t there = 0;
    for (const Value& value : values) {
      if (value.number() == 0) continue;
      ++there;
      if (value.number() == sent) run_.fail("a value was sent, and is still there", who);
    }
    if (there + (sent != 0 ? 1 : 0) != values.size()) {
      run_.fail("a value that was not sent is not there any more", who);
    }
  }

  Operation operation;
  std::deque<Ends> ends;  // of each arm
  std::deque<Value> values;

 private:
  void take_end(Ends& mine, const Ends& from, ArmKind kind) {
    mine.number = from.number;
    if (kind == ArmKind::kSend) mine.sender = from.sender;
    if (kind == ArmKind::kReceive) mine.receiver = from.receiver;
    if (mine.sender) run_.expected.add_sender(mine.number);
    if (mine.receiver) run_.expected.add_receiver(mine.number);
  }

  Run& run_;
};

// --- a send, a receive, or a mailbox's next ---

class Pass {
 public:
  Pass(Run& run, int who, Frame& frame, Box* mailbox)
      : run_(run), who_(who), frame_(frame), mailbox_(mailbox) {}

  Result operator()() {
    run_.expected.attempt(who_);
    const ArmKind kind = frame_.operation.arms[0].kind;
    if (kind == ArmKind::kMessage) return next();
    return kind == ArmKind::kSend ? send() : receive();
  }

 private:
  [[nodiscard]] bool only_tries() const { return frame_.operation.patience == Patience::kTry; }
  [[nodiscard]] Timeout timeout() const {
    if (frame_.operation.patience == Patience::kForever) return kForever;
    return frame_.operation.patience == Patience::kLimit ? run_.limit : std::chrono::nanoseconds(0);
  }

  Result send() {
    const Sender<Value>& sender = frame_.ends[0].sender;
    const bool first = frame_.operation.arms[0].value == frame_.values[0].number();
    Value& value = frame_.values[first ? 0 : 1];
    const Sent sent = only_tries() ? sender.try_send(value) : sender.send_for(value, timeout());
    if (sent) return {Came::kDone, 0, 0};
    return failed(sent.error(), ChannelError::kFull);
  }
  Result receive() {
    const Receiver<Value>& receiver = frame_.ends[0].receiver;
    const Received received = only_tries() ? receiver.try_recv() : receiver.recv_for(timeout());
    if (received) return {Came::kDone, 0, received->number()};
    return failed(received.error(), ChannelError::kEmpty);
  }
  Result next() {
    const unsigned wanted = frame_.operation.arms[0].wanted;
    int number = 0;
    auto low = [&number](Low message) { number = message.number; };
    auto high = [&number](High message) { number = message.number; };
    bool found = false;
    if (wanted == kLow) {
      found = mailbox_->next_for(timeout(), low);
    } else if (wanted == kHigh) {
      found = mailbox_->next_for(timeout(), high);
    } else {
      found = mailbox_->next_for(timeout(), high, low);
    }
    if (found != (number != 0)) run_.fail("next is true without a message, or not with one", who_);
    return found ? Result{Came::kDone, 0, number} : Result();
  }
  Result failed(ChannelError error, ChannelError when_tried) {
    if (error == ChannelError::kClosed) return {Came::kClosed, 0, 0};
    if (error == ChannelError::kStopped) return {Came::kStopped, 0, 0};
    if (error != (only_tries() ? when_tried : ChannelError::kTimedOut)) {
      run_.fail("another error than there can be", who_);
    }
    return {};
  }

  Run& run_;
  int who_;
  Frame& frame_;
  Box* mailbox_;
};

// --- a select ---

/// Tells the reference that a select looks at its arms: it stands before them.
class Look final : public SelectArm {
 public:
  Look(Run& run, int who) : run_(run), who_(who) {}
  [[nodiscard]] bool never() const noexcept override { return true; }
  [[nodiscard]] bool attempt() override {
    run_.expected.attempt(who_);
    run_.check();
    return false;
  }
  [[nodiscard]] bool enroll(const core::Waiter& /*waiter*/) noexcept override { return true; }
  [[nodiscard]] bool withdraw() noexcept override { return false; }
  void stop() noexcept override {}
  void run() override {}

 private:
  Run& run_;
  int who_;
};

class Select {
 public:
  /// `mailbox` is null where there is none, and no arm for it.
  Select(Run& run, int who, Frame& frame, const Work& work, Box* mailbox)
      : run_(run), who_(who), frame_(frame), mailbox_(mailbox), look_(run, who) {
    arms_.push_back(&look_);
    for (std::size_t i = 0; i < work.arms.size(); ++i) add_arm(i, work.arms[i].value);
    if (work.first_again) arms_.push_back(arms_[1]);
  }
  Select(const Select&) = delete;
  Select& operator=(const Select&) = delete;

  Result operator()() {
    std::optional<std::size_t> chosen;
    try {
      chosen = choose();
    } catch (const std::logic_error&) {
      if (told_) run_.fail("a function ran, though select threw", who_);
      return {Came::kRefused, kNone, 0};
    }
    if (chosen && !told_ && chosen_without_message(*chosen)) {
      return {Came::kStopped, static_cast<int>(*chosen) - 1, 0};
    }
    if (chosen.has_value() != told_.has_value()) run_.fail("not one function ran", who_);
    if (!chosen) return {};
    if (static_cast<std::size_t>(told_->arm) + 1 != *chosen) {
      run_.fail("another arm's function ran than was chosen", who_);
    }
    return *told_;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> choose() {
    const std::span<SelectArm* const> arms(arms_);
    switch (frame_.operation.patience) {
      case Patience::kTry:
        return bulkhead::try_select(arms);
      case Patience::kForever:
        return bulkhead::select(arms);
      case Patience::kNoTime:
        return bulkhead::select_for(std::chrono::seconds(0), arms);
      case Patience::kLimit:
        break;
    }
    return bulkhead::select_for(run_.limit, arms);
  }

  // In a destructor: there is no message to call the function with.
  [[nodiscard]] bool chosen_without_message(std::size_t chosen) {
    return run_.expected.gone(who_) && frame_.operation.arms[chosen - 1].kind == ArmKind::kMessage;
  }

  [[nodiscard]] static Came came_of(ChannelError error) {
    return error == ChannelError::kStopped ? Came::kStopped : Came::kClosed;
  }

  void tell(Came came, std::size_t arm, int value) {
    if (told_) run_.fail("two functions ran", who_);
    told_ = Result{came, static_cast<int>(arm), value};
  }

  void add_arm(std::size_t i, std::size_t value) {
    const Arm& arm = frame_.operation.arms[i];
    const auto done = [this, i] { tell(Came::kDone, i, 0); };
    switch (arm.kind) {
      case ArmKind::kReceive:
        add([&] {
          return on_receive(frame_.ends[i].receiver, [this, i](Received received) {
            tell(received ? Came::kDone : came_of(received.error()), i,
                 received ? received->number() : 0);
          });
        });
        break;
      case ArmKind::kSend:
        add([&] {
          return on_send(frame_.ends[i].sender, frame_.values[value], [this, i](Sent sent) {
            tell(sent ? Came::kDone : came_of(sent.error()), i, 0);
          });
        });
        break;
      case ArmKind::kAfter:
        add([&] { return after(arm.at_once ? std::chrono::nanoseconds(0) : run_.limit, done); });
        break;
      case ArmKind::kStop:
        add([&] { return on_stop(done); });
        break;
      case ArmKind::kMessage:
        add_message_arm(i, arm.wanted);
        break;
    }
  }

  void add_message_arm(std::size_t i, unsigned wanted) {
    const auto low = [this, i](Low message) { tell(Came::kDone, i, message.number); };
    const auto high = [this, i](High message) { tell(Came::kDone, i, message.number); };
    if (wanted == kLow) {
      add([&] { return on_message(*mailbox_, low); });
    } else if (wanted == kHigh) {
      add([&] { return on_message(*mailbox_, high); });
    } else {
      add([&] { return on_message(*mailbox_, low, high); });
    }
  }

  template <class Make>
  void add(Make make) {
    const std::shared_ptr<decltype(make())> arm(new auto(make()));
    arms_.push_back(arm.get());
    owned_.push_back(arm);
  }

  Run& run_;
  int who_;
  Frame& frame_;
  Box* mailbox_;
  Look look_;
  std::vector<std::shared_ptr<void>> owned_;
  std::vector<SelectArm*> arms_;
  std::optional<Result> told_;
};

}  // namespace bulkhead::wait::reference
