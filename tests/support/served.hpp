/// A server whose life is noted, for tests of servers.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/door.hpp"
#include "support/supervised.hpp"

namespace support {

struct Get {};
struct Add {
  int n;
};
/// Notes a word.
struct Note {
  std::string word;
};
/// Answered by the next Answer.
struct Ask {
  using Answer = int;
};
struct Answer {
  int n;
};
/// Fails in its handler; in one that has a From.
struct Break {};
struct BreakLater {
  using Answer = int;
};
/// Ends with an answer; without one.
struct EndWith {
  bulkhead::Exit reason;
};
struct EndSilently {
  using Answer = int;
  bulkhead::Exit reason;
};
struct CallMe {};
struct Monitor {
  bulkhead::Pid actor;
};
struct Tick {
  int n = 0;
};
/// Waits at the door.
struct Pass {
  bulkhead::Address<Door> door;
};

/// What its server notes, in order; and what it reports.
struct Notes {
  Diary diary;
  Diary reports;
};

class Till : public bulkhead::GenServer {
 public:
  explicit Till(Notes* notes, int sum = 0) : notes_(notes), sum_(sum) {}

  [[nodiscard]] int handle_call(Get /*message*/) const { return sum_; }
  void handle_call(Ask /*message*/, bulkhead::From<int> from) { from_.push_back(std::move(from)); }
  int handle_call(Break /*message*/) { throw std::runtime_error("broken"); }
  void handle_call(BreakLater /*message*/, bulkhead::From<int> /*from*/) {
    throw std::runtime_error("broken later");
  }
  int handle_call(EndWith message) {
    stop(message.reason);
    return sum_;
  }
  void handle_call(EndSilently message, bulkhead::From<int> /*from*/) { stop(message.reason); }
  bulkhead::AskError handle_call(CallMe /*message*/) {
    const bulkhead::ServerRef<Till> self(bulkhead::this_actor::pid());
    return self.call(Get{}).error().error;
  }
  void handle_call(Monitor message) { bulkhead::this_actor::monitor(message.actor); }
  void handle_call(Note message) { note(message.word); }

  void handle_cast(Add message) { sum_ += message.n; }
  void handle_cast(Note message) { note(message.word); }
  void handle_cast(Answer message) {
    for (auto& from : from_) from.reply(message.n);
    from_.clear();
  }
  void handle_cast(Break /*message*/) { throw std::runtime_error("broken"); }
  void handle_cast(Pass message) {
    note("passes");
    static_cast<void>(message.door.ask(Door::Pass{}, bulkhead::kForever));
    note("passed");
  }

  void handle_info(Tick tick) { note("tick" + std::to_string(tick.n)); }

  void terminate(const bulkhead::Exit& reason) { note("terminate: " + to_string(reason)); }
  void report(std::string_view text) const { notes_->reports.add(std::string(text)); }
  [[nodiscard]] std::string format_status() const { return "sum " + std::to_string(sum_); }

 protected:
  void note(std::string word) { notes_->diary.add(std::move(word)); }

 private:
  Notes* notes_;
  int sum_;
  std::vector<bulkhead::From<int>> from_;
};

/// Froms are not copied: so that it can be.
class Purse : public bulkhead::GenServer {
 public:
  explicit Purse(int start) : sum(start) {}
  [[nodiscard]] int handle_call(Get /*message*/) const { return sum; }
  void handle_cast(Add message) { sum += message.n; }
  int sum;
};

class Served : public Supervised {
 protected:
  ~Served() override { runtime.shutdown(std::chrono::seconds(0)); }  // before the notes go

  bulkhead::ServerRef<Till> till(int sum = 0, bulkhead::ServerOptions options = {}) {
    return serve<Till>(options, &notes, sum);
  }
  template <class S, class... Args>
  bulkhead::ServerRef<S> serve(bulkhead::ServerOptions options, Args... args) {
    if (!options.spawn.core) options.spawn = on_core(1);
    auto started = bulkhead::start_server<S>(runtime, options, args...);
    EXPECT_TRUE(started.has_value()) << (started ? "" : to_string(started.error()));
    return started.value_or(bulkhead::ServerRef<S>());
  }

  Notes notes;
};

}  // namespace support
