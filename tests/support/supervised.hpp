/// Children whose starts and ends are noted, for tests of supervisors.
#pragma once

#include <gtest/gtest.h>
#include <bulkhead/otp.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/crashes.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace support {

struct Fail {};
struct End {};
struct EndInOrder {};
struct Unlink {
  bulkhead::Pid from;
};

/// What happened: "+a" when child a started, "-a" when it ended.
class Diary {
 public:
  void add(std::string entry) { entries_.add(std::move(entry)); }
  /// In order, in one line.
  [[nodiscard]] std::string line() const {
    std::string all;
    for (const std::string& entry : entries_.entries()) all += (all.empty() ? "" : " ") + entry;
    return all;
  }
  [[nodiscard]] std::size_t count(const std::string& wanted) const {
    const auto all = entries_.entries();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), wanted));
  }

 private:
  Log<std::string> entries_;
};

/// A child that notes its life, and ends as it is told.
class Worker {
 public:
  Worker(Diary* diary, std::string name) : diary_(diary), name_(std::move(name)) {
    diary_->add("+" + name_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { diary_->add("-" + name_); }

  void receive(Fail /*message*/) { throw std::runtime_error(name_ + " fails"); }
  void receive(End /*message*/) { bulkhead::this_actor::stop(); }
  void receive(EndInOrder /*message*/) {
    bulkhead::this_actor::stop(bulkhead::Exit::shutdown("done"));
  }
  void receive(Unlink message) { bulkhead::this_actor::unlink(message.from); }

 private:
  Diary* diary_;
  std::string name_;
};

/// One that does not end when it is asked to.
class Stubborn {
 public:
  Stubborn(Diary* diary, std::string name) : diary_(diary), name_(std::move(name)) {
    diary_->add("+" + name_);
  }
  Stubborn(const Stubborn&) = delete;
  Stubborn& operator=(const Stubborn&) = delete;
  ~Stubborn() { diary_->add("-" + name_); }

  void started() { bulkhead::this_actor::trap_exits(true); }
  void receive(bulkhead::Exited /*exited*/) {}

 private:
  Diary* diary_;
  std::string name_;
};

class Supervised : public OnCores {
 protected:
  Supervised() : runtime(with_log(this)) { runtime.start(); }
  ~Supervised() override { runtime.shutdown(std::chrono::seconds(0)); }

  /// Runs in an actor, and waits until that has ended.
  template <class F>
  void run(F body) {
    Event over;
    runtime.spawn_with(on_core(0), [&] {
      body();
      over.set();
    });
    ASSERT_TRUE(over.wait());
  }
  bulkhead::SupervisorRef start(bulkhead::SupervisorSpec spec) {
    auto started = bulkhead::start_supervisor(runtime, std::move(spec));
    EXPECT_TRUE(started.has_value()) << (started ? "" : to_string(started.error()));
    return started.value_or(bulkhead::SupervisorRef());
  }
  bulkhead::ChildSpec worker(const std::string& name,
                             bulkhead::Restart restart = bulkhead::Restart::kPermanent) {
    bulkhead::ChildSpec spec = bulkhead::child<Worker>(name, &diary, name);
    spec.restart = restart;
    return spec;
  }
  /// The pid of a child that runs; none otherwise.
  static bulkhead::Pid pid_of(bulkhead::SupervisorRef supervisor, const std::string& id) {
    const auto children = supervisor.which_children();
    if (!children) return {};
    for (const auto& child : *children) {
      if (child.id == id) return child.pid;
    }
    return {};
  }
  /// Waits until it runs again, as another actor.
  static bulkhead::Pid await_restart(bulkhead::SupervisorRef supervisor, const std::string& id,
                                     bulkhead::Pid old) {
    bulkhead::Pid pid;
    EXPECT_TRUE(eventually([&] {
      pid = pid_of(supervisor, id);
      return pid && pid != old;
    })) << id;
    return pid;
  }
  template <class M>
  static void tell(bulkhead::Pid pid, M message) {
    bulkhead::Address<Worker>(pid).send(message);
  }
  /// How that actor has ended; waits for it.
  bulkhead::Exit end_of(bulkhead::Pid pid) {
    bulkhead::Exit exit;
    EXPECT_TRUE(eventually([&] {
      for (const auto& end : ends.entries()) {
        if (end.first != pid) continue;
        exit = end.second;
        return true;
      }
      return false;
    })) << to_string(pid);
    return exit;
  }
  [[nodiscard]] bool has_ended(bulkhead::Pid pid) const {
    for (const auto& end : ends.entries()) {
      if (end.first == pid) return true;
    }
    return false;
  }

  Diary diary;
  Log<std::pair<bulkhead::Pid, bulkhead::Exit>> ends;
  std::shared_ptr<Crashes> crashes = std::make_shared<Crashes>();
  bulkhead::Runtime runtime;

 private:
  static bulkhead::Config with_log(Supervised* self) {
    bulkhead::Config config = OnCores::config();
    config.on_death = [self](const bulkhead::Death& death) {
      self->ends.add({death.actor, death.exit});
    };
    config.log = told_to(self->crashes);
    return config;
  }
};

/// `cpu_time_for(n)` is what n children take: eight times as many take eight times as much, about.
template <class CpuTimeFor>
void expect_linear(CpuTimeFor cpu_time_for) {
  const auto best_of_some = [&cpu_time_for](int many) {
    return std::min({cpu_time_for(many), cpu_time_for(many), cpu_time_for(many)});
  };
  constexpr int kFew = kTimeFactor == 1 ? 2000 : 250;
  const auto small = best_of_some(kFew);
  EXPECT_LT(best_of_some(8 * kFew), 4 * 8 * small + std::chrono::milliseconds(100));
}

}  // namespace support
