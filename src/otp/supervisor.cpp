#include "bulkhead/otp/supervisor.hpp"

#include <set>

#include "bulkhead/registry.hpp"
#include "bulkhead/this_actor.hpp"
#include "otp/supervisor_actor.hpp"

namespace bulkhead {

namespace otp {

namespace {

// Enums may hold any number: from a file, or another program's memory.
bool is_one(Restart restart) { return restart <= Restart::kTemporary; }
bool is_one(ChildType type) { return type <= ChildType::kSupervisor; }
bool is_one(Strategy strategy) { return strategy <= Strategy::kSimpleOneForOne; }
bool is_one(AutoShutdown when) { return when <= AutoShutdown::kAllSignificant; }

}  // namespace

std::optional<ChildError> check(const ChildSpec& spec, const SupervisorSpec& of) {
  if (!is_one(spec.restart)) return spec_error(SpecFault::kRestart, spec.id);
  if (!is_one(spec.type)) return spec_error(SpecFault::kType, spec.id);
  if (spec.significant &&
      (spec.restart == Restart::kPermanent || of.auto_shutdown == AutoShutdown::kNever)) {
    return spec_error(SpecFault::kSignificant, spec.id);
  }
  if (spec.name && (spec.name->empty() || spec.name->size() > kLongestName)) {
    return spec_error(SpecFault::kName, spec.id);
  }
  if (of.strategy == Strategy::kSimpleOneForOne) {
    if (spec.name) return spec_error(SpecFault::kNameShared);
    return std::nullopt;
  }
  if (spec.id.empty()) return spec_error(SpecFault::kNoId);
  if (!spec.start) return spec_error(SpecFault::kNoStart, spec.id);
  return std::nullopt;
}

namespace {

std::optional<ChildError> check(const Backoff& backoff) {
  constexpr auto kLongest = std::chrono::hours(24 * 365 * 100);  // twice that can be waited for
  const bool sound = backoff.least.count() >= 0 && backoff.least <= backoff.most &&
                     backoff.most <= kLongest && backoff.jitter >= 0 && backoff.jitter <= 1 &&
                     backoff.reset_after.count() >= 0;
  if (sound) return std::nullopt;
  return spec_error(SpecFault::kBackoff);
}

}  // namespace

std::optional<ChildError> check(const SupervisorSpec& spec) {
  if (!is_one(spec.strategy)) return spec_error(SpecFault::kStrategy);
  if (!is_one(spec.auto_shutdown)) return spec_error(SpecFault::kAutoShutdown);
  if (spec.period.count() <= 0) return spec_error(SpecFault::kNoPeriod);
  if (spec.backoff) {
    if (auto fault = check(*spec.backoff)) return fault;
  }
  if (spec.strategy == Strategy::kSimpleOneForOne) {
    if (!spec.children.empty()) return spec_error(SpecFault::kTemplateOnly);
    return check(spec.like, spec);
  }
  std::set<std::string_view> ids;
  for (const ChildSpec& child : spec.children) {
    if (auto fault = check(child, spec)) return fault;
    if (!ids.insert(child.id).second) return spec_error(SpecFault::kIdTaken, child.id);
  }
  return std::nullopt;
}

namespace {

Address<Supervisor> address(Pid pid) { return Address<Supervisor>(pid); }

// What a call came to: the answer, or that there was none.
template <class Value>
std::expected<Value, ChildError> flat(
    std::expected<std::expected<Value, ChildError>, AskError> answer) {
  if (answer) return *std::move(answer);
  ChildError error = child_error(ChildError::Kind::kNoSupervisor);
  error.call = answer.error();
  return std::unexpected(std::move(error));
}

template <class Call>
auto call(Pid pid, Call message) {
  return flat(address(pid).ask(std::move(message), kForever));
}

std::expected<SupervisorRef, ChildError> begin(Address<Supervisor> supervisor,
                                               std::optional<std::string> name = {}) {
  auto begun = call(supervisor.pid(), Begin{std::move(name)});
  if (!begun) {
    // Where nobody waits, such as in a hook, it is not known what becomes of it.
    if (begun.error().kind == ChildError::Kind::kNoSupervisor)
      static_cast<void>(kill(supervisor.pid()));
    return std::unexpected(std::move(begun.error()));
  }
  return SupervisorRef(supervisor.pid());
}

std::expected<SupervisorRef, ChildError> start_linked(SupervisorSpec spec,
                                                      std::optional<std::string> name) {
  if (auto fault = otp::check(spec)) return std::unexpected(*std::move(fault));
  return begin(
      spawn_with<Supervisor>(SpawnOptions{.linked = true}, std::move(spec), this_actor::pid()),
      std::move(name));
}

std::string_view text(SpecFault fault) {
  switch (fault) {
    case SpecFault::kNoId:
      return "its id is empty";
    case SpecFault::kIdTaken:
      return "another child has its id";
    case SpecFault::kNoStart:
      return "it has no function to start it";
    case SpecFault::kNoPeriod:
      return "its period is not positive";
    case SpecFault::kBackoff:
      return "its backoff has a negative time, least above most, most above 100 years, or a "
             "jitter outside 0 to 1";
    case SpecFault::kSignificant:
      return "only a child that is not permanent, of a supervisor with auto_shutdown, can be "
             "significant";
    case SpecFault::kTemplateOnly:
      return "with kSimpleOneForOne it has no children to begin with, but what they are like";
    case SpecFault::kName:
      return "its name is empty, or longer than 255 bytes";
    case SpecFault::kNameShared:
      return "with kSimpleOneForOne it has many children, and a name is one actor's";
    case SpecFault::kStrategy:
      return "its strategy is none of those that there are";
    case SpecFault::kAutoShutdown:
      return "its auto_shutdown is none of those that there are";
    case SpecFault::kRestart:
      return "its restart is none of those that there are";
    case SpecFault::kType:
      return "its type is none of those that there are";
  }
  return "";
}

std::string reason(const ChildError& error) {
  switch (error.kind) {
    case ChildError::Kind::kSpec:
      return "the specification makes no sense: " + std::string(text(error.fault));
    case ChildError::Kind::kAlreadyStarted:
      return "it runs already, as " + to_string(error.pid);
    case ChildError::Kind::kAlreadyPresent:
      return "there is one of that id, which does not run: use restart_child or delete_child";
    case ChildError::Kind::kFailed:
      return "it did not start: " + to_string(error.exit);
    case ChildError::Kind::kNotFound:
      return "there is none";
    case ChildError::Kind::kRunning:
      return "it runs: use terminate_child first";
    case ChildError::Kind::kRestarting:
      return "it is being started again: use terminate_child first";
    case ChildError::Kind::kSimple:
      return "children of kSimpleOneForOne have no ids";
    case ChildError::Kind::kNoSupervisor:
      return std::string(to_string(error.call));
  }
  return "";
}

}  // namespace
}  // namespace otp

std::string to_string(const ChildError& error) {
  const std::string who = error.id.empty() ? "supervisor" : "child " + error.id;
  return who + ": " + otp::reason(error);
}

std::expected<Pid, ChildError> SupervisorRef::start_child(ChildSpec spec) const {
  return otp::call(pid_, otp::StartChild{std::move(spec)});
}
std::expected<Pid, ChildError> SupervisorRef::start_child(std::function<ChildStart()> start) const {
  return otp::call(pid_, otp::StartAnother{std::move(start)});
}
std::expected<void, ChildError> SupervisorRef::terminate_child(std::string id) const {
  return otp::call(pid_, otp::TerminateChild{std::move(id)});
}
std::expected<void, ChildError> SupervisorRef::terminate_child(Pid child) const {
  return otp::call(pid_, otp::TerminatePid{child});
}
std::expected<Pid, ChildError> SupervisorRef::restart_child(std::string id) const {
  return otp::call(pid_, otp::RestartChild{std::move(id)});
}
std::expected<void, ChildError> SupervisorRef::delete_child(std::string id) const {
  return otp::call(pid_, otp::DeleteChild{std::move(id)});
}
std::expected<std::vector<ChildInfo>, ChildError> SupervisorRef::which_children() const {
  return otp::call(pid_, otp::WhichChildren{});
}
std::expected<ChildCount, ChildError> SupervisorRef::count_children() const {
  return otp::call(pid_, otp::CountChildren{});
}
std::expected<ChildSpec, ChildError> SupervisorRef::child_spec(std::string id) const {
  return otp::call(pid_, otp::GetSpec{std::move(id)});
}

bool SupervisorRef::stop(Exit reason, Timeout timeout) const {
  const auto answer = otp::address(pid_).ask(otp::Stop{std::move(reason)}, timeout);
  // It never answers: it ends.
  return !answer && answer.error() != AskError::kTimedOut;
}

std::expected<SupervisorRef, ChildError> start_supervisor(SupervisorSpec spec) {
  return otp::start_linked(std::move(spec), {});
}

std::expected<SupervisorRef, ChildError> start_supervisor(Runtime& runtime, SupervisorSpec spec) {
  if (auto fault = otp::check(spec)) return std::unexpected(*std::move(fault));
  return otp::begin(runtime.spawn<otp::Supervisor>(std::move(spec), Pid()));
}

ChildSpec child_supervisor(std::string id, SupervisorSpec spec) {
  ChildSpec child;
  child.id = std::move(id);
  child.type = ChildType::kSupervisor;
  child.start = [spec = std::move(spec)]() -> ChildStart {
    auto started = otp::start_linked(spec, otp::child_name());
    if (started) return started->pid();
    if (started.error().kind == ChildError::Kind::kFailed) {
      return std::unexpected(std::move(started.error().exit));
    }
    return std::unexpected(Exit::custom(to_string(started.error())));
  };
  return child;
}

}  // namespace bulkhead
