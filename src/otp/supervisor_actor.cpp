#include "otp/supervisor_actor.hpp"

#include <algorithm>
#include <exception>
#include <unordered_set>

#include "bulkhead/registry.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/take.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/timer.hpp"

namespace bulkhead::otp {

Supervisor::Supervisor(SupervisorSpec spec, Pid parent)
    : spec_(std::move(spec)),
      parent_(parent),
      intensity_(spec_.intensity, spec_.period),
      random_(std::random_device()()),
      children_(spec_.strategy == Strategy::kSimpleOneForOne
                    ? simple_children(*this)
                    : children_in_order(*this, std::move(spec_.children))) {}

Supervisor::~Supervisor() = default;

void Supervisor::started() { this_actor::trap_exits(true); }

std::expected<void, ChildError> Supervisor::receive(Begin) {
  auto begun = children_->begin();
  if (!begun) {
    if (parent_) this_actor::unlink(parent_);  // is told by the answer
    give_up(Exit::shutdown(to_string(begun.error())));
  }
  return begun;
}

std::expected<Pid, ChildError> Supervisor::receive(StartChild call) {
  if (auto fault = check(call.spec, spec_)) return std::unexpected(*std::move(fault));
  return children_->start(std::move(call.spec));
}
std::expected<Pid, ChildError> Supervisor::receive(StartAnother call) {
  if (!call.start) return std::unexpected(spec_error(SpecFault::kNoStart));
  return children_->start_another(std::move(call.start));
}
std::expected<void, ChildError> Supervisor::receive(TerminateChild call) {
  return children_->terminate(call.id);
}
std::expected<void, ChildError> Supervisor::receive(TerminatePid call) {
  return children_->terminate(call.child);
}
std::expected<Pid, ChildError> Supervisor::receive(RestartChild call) {
  return children_->restart(call.id);
}
std::expected<void, ChildError> Supervisor::receive(DeleteChild call) {
  return children_->remove(call.id);
}
std::expected<std::vector<ChildInfo>, ChildError> Supervisor::receive(WhichChildren) {
  return children_->list();
}
std::expected<ChildCount, ChildError> Supervisor::receive(CountChildren) {
  return children_->count();
}
std::expected<ChildSpec, ChildError> Supervisor::receive(GetSpec call) {
  return children_->spec(call.id);
}

void Supervisor::receive(Stop call, Reply<void> reply) {
  stopper_.emplace(std::move(reply));
  give_up(call.reason);
}

std::vector<ChildInfo> Supervisor::receive(GetChildren) {
  ++statistics_.system;
  return children_->list();
}

std::string Supervisor::system_status() const {
  constexpr const char* kStrategies[] = {"one_for_one", "one_for_all", "rest_for_one",
                                         "simple_one_for_one"};
  const ChildCount counts = children_->count();
  return std::string("supervisor, ") + kStrategies[static_cast<std::size_t>(spec_.strategy)] +
         ", children: " + std::to_string(counts.specs) +
         ", running: " + std::to_string(counts.active);
}

void Supervisor::receive(Exited exited) {
  if (over_) return;
  if (parent_ && exited.actor == parent_) return give_up(exited.exit);
  children_->ended(exited.actor, exited.exit);
}

void Supervisor::receive(Retry retry) {
  if (!over_) children_->retry(retry.number);
}

namespace {

Exit name_taken(const std::string& name, Pid holder) {
  return Exit::custom("its name \"" + name + "\" is that of " + to_string(holder));
}

}  // namespace

// --- for its Children ----------------------------------------------------------------------------

ChildStart Supervisor::run(const std::function<ChildStart()>& start) {
  try {
    return start();
  } catch (...) {  // also what unwinds it: its next wait throws that again
    return std::unexpected(Exit::panic(std::current_exception()));
  }
}

ChildStart Supervisor::run(const ChildSpec& spec) {
  if (!spec.name) return run(spec.start);
  if (const Pid holder = whereis(*spec.name))
    return std::unexpected(name_taken(*spec.name, holder));
  const ChildStart started = run(spec.start);
  if (!started || !*started) return started;
  const auto given = register_name(*spec.name, *started);
  // One that has ended is heard of as others are; and it may have named itself.
  if (given || given.error() == RegisterError::kNoActor) return started;
  if (given.error() == RegisterError::kNamed && name_of(*started) == *spec.name) return started;
  end(*started, spec.how_to_shut_down());
  if (given.error() == RegisterError::kTaken) {
    return std::unexpected(name_taken(*spec.name, given.error().holder));
  }
  return std::unexpected(
      Exit::custom("it cannot be called \"" + *spec.name + "\": " + to_string(given.error())));
}

MonitorRef Supervisor::ask_to_end(Pid child, Shutdown how) {
  // Watched first: it may have ended its link, and would not be heard of. If it has one, it keeps
  // that, and so hears when this actor is killed before it.
  const MonitorRef monitor = this_actor::monitor(child);
  static_cast<void>(how.kills() ? kill(child) : exit(child, Exit::shutdown()));
  return monitor;
}

Exit Supervisor::end(Pid child, Shutdown how) {
  const MonitorRef monitor = ask_to_end(child, how);
  const auto is_it = [monitor](const Down& down) { return down.monitor == monitor; };
  auto down = this_actor::take_for<Down>(this, how.patience(), is_it);
  if (!down) {
    static_cast<void>(kill(child));
    down = this_actor::take_for<Down>(this, kForever, is_it);
  }
  this_actor::unlink(child, this_actor::Flush::kYes);
  return down ? down->exit : Exit::killed();
}

void Supervisor::end_all(const std::vector<Pid>& children, Shutdown how) {
  for (const Pid child : children) ask_to_end(child, how);
  const auto begun = Clock::now();
  std::unordered_set<Pid> left(children.begin(), children.end());
  // All that comes of their ends, so that none of it has to be passed over again and again.
  const auto any = [this, &left](const this_actor::Waiting<Supervisor>& message) {
    if (const Down* down = message.as<Down>()) return left.erase(down->actor) > 0;
    return message.as<Exited>() != nullptr && over_;
  };
  Timeout patience = how.patience();
  while (!left.empty()) {
    if (!this_actor::handle_for(this, patience, any)) {
      for (const Pid child : left) static_cast<void>(kill(child));
      patience = kForever;
      continue;
    }
    if (patience.is_forever()) continue;
    const std::chrono::nanoseconds most(how.patience().nanoseconds());
    patience = std::max(most - (Clock::now() - begun), std::chrono::nanoseconds(0));
  }
}

std::optional<std::chrono::nanoseconds> Supervisor::plan_restart(Delay& delay) {
  const auto now = Clock::now();
  if (!intensity_.allows(now)) {
    give_up(Exit::shutdown("too many restarts"));
    return std::nullopt;
  }
  return delay.next(spec_.backoff, now, random_);
}

std::uint64_t Supervisor::retry_after(std::chrono::nanoseconds delay) {
  const auto self = this_actor::address(this);
  const std::uint64_t number = ++retries_;
  if (delay.count() == 0) {
    self.send(Retry{number});
  } else {
    static_cast<void>(send_after(Timeout(delay), self, Retry{number}));
  }
  return number;
}

void Supervisor::note_end(const ChildSpec& child) {
  if (!child.significant || over_) return;
  const bool over = spec_.auto_shutdown == AutoShutdown::kAnySignificant ||
                    (spec_.auto_shutdown == AutoShutdown::kAllSignificant &&
                     children_->no_significant_one_runs());
  if (over) give_up(Exit::shutdown());
}

void Supervisor::give_up(const Exit& reason) {
  if (over_) return;
  over_ = true;
  children_->end();
  this_actor::stop(reason);
}

bool is_restarted(Restart restart, const Exit& exit) noexcept {
  switch (restart) {
    case Restart::kPermanent:
      return true;
    case Restart::kTransient:
      return !exit.is_normal() && exit.kind() != Exit::Kind::kShutdown;
    case Restart::kTemporary:
      break;
  }
  return false;
}

}  // namespace bulkhead::otp
