#include "bulkhead/otp/application.hpp"

#include <algorithm>
#include <exception>
#include <expected>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bulkhead/actor_info.hpp"
#include "bulkhead/links.hpp"
#include "bulkhead/log.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/stop_signals.hpp"
#include "bulkhead/this_actor.hpp"

namespace bulkhead {

namespace {

struct Start {};

// Starts the tree, and tells main how it has ended.
class Watch {
 public:
  Watch(SupervisorSpec spec, StopSignals& signals, std::optional<Exit>& ending)
      : spec_(std::move(spec)), signals_(signals), ending_(ending) {}
  void started() { this_actor::trap_exits(true); }
  std::expected<SupervisorRef, ChildError> receive(Start /*message*/) {
    auto root = start_supervisor(std::move(spec_));
    if (root) {
      root_ = root->pid();
    } else {
      this_actor::stop();
    }
    return root;
  }
  void receive(Exited exited) {
    if (exited.actor != root_) return;
    ending_ = std::move(exited.exit);
    signals_.wake();
    this_actor::stop();
  }

 private:
  SupervisorSpec spec_;
  StopSignals& signals_;
  std::optional<Exit>& ending_;
  Pid root_;
};

// What an application tells, in its runtime's log.
class Told {
 public:
  Told(const Application& application, Runtime& runtime)
      : application_(application), runtime_(runtime) {}
  void operator()(const std::string& text) const {
    runtime_.log_line(application_.name + ": " + text, LineKind::kRare);
  }

 private:
  const Application& application_;
  Runtime& runtime_;
};

// In a catch block: what a hook has thrown.
std::string what_was_thrown() { return explain(Exit::panic(std::current_exception())); }

void kill_and_name(const Told& tell, const Runtime& runtime) {
  constexpr std::size_t kMost = 20;
  const std::vector<Pid> living = runtime.actors();
  std::string text =
      std::to_string(living.size()) + " actors have not ended in time, and are killed:";
  for (std::size_t i = 0; i < std::min(living.size(), kMost); ++i) {
    const auto info = actor_info(living[i]);
    if (!info) continue;
    text += "\n  " + to_string(info->pid) + " (" + std::string(info->type) + "), " +
            std::string(to_string(info->state)) + ", " + std::to_string(info->mailbox) +
            " messages waiting";
  }
  if (living.size() > kMost) {
    text += "\n  and " + std::to_string(living.size() - kMost) + " others";
  }
  tell(text);
  for (const Pid pid : living) static_cast<void>(kill(pid));
}

bool in_order(const Exit& exit) {
  return exit.is_normal() || (exit.kind() == Exit::Kind::kShutdown && exit.message().empty());
}

// True unless it throws: then the stop goes on all the same.
bool call_stopping(const Application& application, const Told& tell, Runtime& runtime) {
  if (!application.stopping) return true;
  try {
    application.stopping(runtime);
    return true;
  } catch (...) {
    tell("Application::stopping has failed, and it ends all the same: " + what_was_thrown());
    return false;
  }
}

}  // namespace

int run_application(const Application& application) {
  if (!application.tree) {
    throw std::invalid_argument(
        "bulkhead: run_application: Application::tree is not set; it makes the root of the tree");
  }
  StopSignals signals;  // first of all, so that all threads inherit what they block
  std::optional<Exit> ending;
  Runtime runtime(application.config);
  runtime.start();
  const Told tell(application, runtime);
  std::expected<SupervisorRef, ChildError> root;
  try {
    const auto watch = runtime.spawn<Watch>(application.tree(runtime), signals, ending);
    root = watch.ask(Start{}, kForever).value();
    if (root && application.started) application.started(runtime, *root);
  } catch (...) {
    tell("could not be started: " + what_was_thrown());
    if (root) static_cast<void>(root->stop(Exit::shutdown(), application.patience));
    return 2;
  }
  if (!root) {
    tell("could not be started: " + to_string(root.error()));
    return 2;
  }
  const auto signal = signals.wait();
  if (!signal) {  // the tree has ended by itself
    tell("has ended: " + explain(*ending));
    runtime.shutdown(application.patience);
    return in_order(*ending) ? 0 : 1;
  }
  tell(std::string(to_string(*signal)) + ": it ends, in order; a second one ends it at once");
  signals.let_through();
  const bool stopping = call_stopping(application, tell, runtime);
  const bool in_time = root->stop(Exit::shutdown(), application.patience);
  if (!in_time) kill_and_name(tell, runtime);
  // What is left then is at its end: it is not to be named.
  runtime.shutdown(in_time ? application.patience : Timeout(std::chrono::seconds(0)));
  return in_time && stopping ? 0 : 1;
}

}  // namespace bulkhead
