#include "otp/supervisor_actor.hpp"

#include <algorithm>
#include <exception>
#include <unordered_set>

#include "bulkhead/log.hpp"
#include "bulkhead/otp/server_actor.hpp"
#include "bulkhead/registry.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/take.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/timer.hpp"
#include "bulkhead/unwind.hpp"

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

namespace {

std::expected<void, ChildError> named(const std::optional<std::string>& name) {
  if (!name) return {};
  auto taken = take_name(*name);
  if (taken) return {};
  return std::unexpected(start_failed({}, std::move(taken.error().exit)));
}

}  // namespace

std::expected<void, ChildError> Supervisor::receive(Begin begin) {
  std::expected<void, ChildError> begun = named(begin.name);
  if (begun) begun = children_->begin();
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

std::optional<std::string> child_name() {
  const void* self = core::own_object(type_name<Supervisor>());
  return self != nullptr ? static_cast<const Supervisor*>(self)->child_name() : std::nullopt;
}

// --- for its Children ----------------------------------------------------------------------------

ChildStart Supervisor::run(const std::function<ChildStart()>& start, std::uint32_t runs) {
  try {
    const this_actor::RestartScope scope(runs);
    return start();
  } catch (const Unwind&) {
    throw;
  } catch (...) {
    return std::unexpected(Exit::panic(std::current_exception()));
  }
}

ChildStart Supervisor::run(const ChildSpec& spec, std::uint32_t runs) {
  if (!spec.name) return run(spec.start, runs);
  if (const Pid holder = whereis(*spec.name))
    return std::unexpected(name_taken(*spec.name, holder));
  child_name_ = spec.name;
  const ChildStart started = run(spec.start, runs);
  child_name_.reset();
  if (!started || !*started) return started;
  const auto given = register_name(*spec.name, *started);
  // One that has ended is heard of as others are; and servers have named themselves.
  if (given || given.error() == RegisterError::kNoActor) return started;
  if (given.error() == RegisterError::kNamed && name_of(*started) == *spec.name) return started;
  end(*started, spec.how_to_shut_down());
  if (given.error() == RegisterError::kTaken) {
    return std::unexpected(name_taken(*spec.name, given.error().holder));
  }
  return std::unexpected(
      Exit::custom("it cannot be called \"" + *spec.name + "\": " + to_string(given.error())));
}

namespace {

std::string who() {
  const Pid self = this_actor::pid();
  const std::string name = name_of(self);
  return "supervisor " + to_string(self) + (name.empty() ? "" : " named \"" + name + "\"");
}

std::string child_called(const std::string& id) {
  return id.empty() ? "a child" : "child \"" + id + "\"";
}

void tell_overrun(Pid child, Shutdown how) {
  log_line(who() + ": child " + to_string(child) + " has not ended in " +
           std::to_string(how.patience().nanoseconds() / 1'000'000) + " ms, and is killed");
}

}  // namespace

void Supervisor::tell_not_started(const std::string& id, const Exit& why) const {
  log_line(who() + " could not start " + child_called(id) + " again: " + explain(why));
}

MonitorRef Supervisor::ask_to_end(Pid child, Shutdown how) {
  // It may have ended its link, and would not be heard of. If it has one, it keeps that, and hears
  // when this actor is killed before it. Its Exited is not looked for, in a mailbox that may be
  // long: when its turn comes, it is of nobody who is a child.
  const MonitorRef monitor = this_actor::monitor(child);
  static_cast<void>(how.kills() ? kill(child) : exit(child, Exit::shutdown()));
  return monitor;
}

namespace {

Timeout time_left(Timeout all, Clock::time_point begun) {
  if (all.is_forever()) return all;
  const std::chrono::nanoseconds most(all.nanoseconds());
  return std::max(most - (Clock::now() - begun), std::chrono::nanoseconds(0));
}

}  // namespace

template <class Wanted>
std::optional<Down> Supervisor::await(Timeout patience, Wanted is_it) {
  // Not through all that waits, which may be the Exited of very many children. A Down is always in
  // front: what it takes to put it there was made for the RestartScope that the child began in.
  std::optional<Down> found;
  const auto look = [&](const this_actor::Waiting<Supervisor>& message) {
    ++looks_;
    const Down* down = message.as<Down>();
    if (down == nullptr || !is_it(*down)) return false;
    found = *down;
    return true;
  };
  const auto begun = Clock::now();
  Timeout left = patience;
  while (!found && this_actor::handle_for(this, left, look, Priority::kSignal)) {
    left = time_left(patience, begun);
  }
  return found;
}

Exit Supervisor::end(Pid child, Shutdown how) {
  const MonitorRef monitor = ask_to_end(child, how);
  const auto is_it = [monitor](const Down& down) { return down.monitor == monitor; };
  auto down = await(how.patience(), is_it);
  if (!down) {
    tell_overrun(child, how);
    static_cast<void>(kill(child));
    down = await(kForever, is_it);
  }
  return down ? down->exit : Exit::killed();
}

void Supervisor::end_all(const std::vector<Pid>& children, Shutdown how) {
  for (const Pid child : children) ask_to_end(child, how);
  const auto begun = Clock::now();
  std::unordered_set<Pid> left(children.begin(), children.end());
  const auto any = [&left](const Down& down) { return left.contains(down.actor); };
  Timeout patience = how.patience();
  while (!left.empty()) {
    const auto down = await(patience, any);
    if (down) {
      left.erase(down->actor);
      if (!patience.is_forever()) patience = time_left(how.patience(), begun);
    } else {
      for (const Pid child : left) {
        tell_overrun(child, how);
        static_cast<void>(kill(child));
      }
      patience = kForever;
    }
  }
}

std::optional<std::chrono::nanoseconds> Supervisor::plan_restart(Delay& delay,
                                                                 const std::string& id,
                                                                 const Exit& why) {
  const auto now = Clock::now();
  if (!intensity_.allows(now)) {
    log_line(who() + " gives up: more than " + std::to_string(spec_.intensity) + " restarts in " +
                 std::to_string(spec_.period / std::chrono::milliseconds(1)) + " ms, the last of " +
                 child_called(id) + " (" + explain(why) + "); it ends its children, and itself",
             LineKind::kRare);
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
