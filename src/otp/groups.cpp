#include "bulkhead/otp/groups.hpp"

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/spawn.hpp"
#include "otp/groups_actor.hpp"

namespace bulkhead {

namespace otp {

namespace {

constexpr std::string_view kName = "bulkhead.groups";

// Whose groups: a runtime's, or, with none, those of the calling actor's.
Address<Groups> find(Runtime* runtime) {
  return runtime != nullptr ? runtime->whereis<Groups>(kName) : whereis<Groups>(kName);
}

// Finds it, or starts it. Others may do so at the same time: the name is one's.
Address<Groups> find_or_start(Runtime* runtime) {
  if (const Address<Groups> found = find(runtime)) return found;
  const Address<Groups> made = runtime != nullptr ? runtime->spawn<Groups>() : spawn<Groups>();
  const auto named =
      runtime != nullptr ? runtime->register_name(kName, made) : register_name(kName, made);
  if (named) return made;
  static_cast<void>(stop(made));
  return find(runtime);
}

enum class Start : bool { kNo, kYes };

template <class Call>
using Answer = decltype(std::declval<Groups&>().receive(std::declval<Call>()));

// Asks whoever keeps the groups. It ends when it has none, so the question may be one too late:
// then it is put to the next. With kNo, and when there is none: `otherwise`.
template <class Call>
std::expected<Answer<Call>, GroupError> ask(Runtime* runtime, Start start, const Call& call,
                                            Answer<Call> otherwise) {
  for (;;) {
    const Address<Groups> keeper = start == Start::kYes ? find_or_start(runtime) : find(runtime);
    if (!keeper) {
      if (start == Start::kYes) continue;
      return otherwise;
    }
    auto answer = keeper.ask(call, kForever);
    if (answer) return *std::move(answer);
    if (answer.error() == AskError::kGone || answer.error() == AskError::kDied) continue;
    return std::unexpected(GroupError{GroupError::kFailed, answer.error()});
  }
}

void check(const std::string& group) {
  if (group.empty()) {
    throw std::invalid_argument("bulkhead: the name of a process group is empty; give it one");
  }
}
void check(const std::string& group, const std::vector<Pid>& actors) {
  check(group);
  for (const Pid actor : actors) {
    if (actor) continue;
    throw std::invalid_argument(
        "bulkhead: no actor (Pid()) was to join or leave the process group \"" + group + "\"");
  }
}

std::expected<void, GroupError> join(Runtime* runtime, std::string group, std::vector<Pid> actors) {
  check(group, actors);
  if (actors.empty()) return {};
  const auto joined = ask(runtime, Start::kYes, Join{std::move(group), std::move(actors)}, true);
  if (!joined) return std::unexpected(joined.error());
  return {};
}

std::expected<void, GroupError> leave(Runtime* runtime, std::string group,
                                      std::vector<Pid> actors) {
  check(group, actors);
  if (actors.empty()) return {};
  const auto left = ask(runtime, Start::kNo, Leave{std::move(group), std::move(actors)}, false);
  if (!left) return std::unexpected(left.error());
  if (!*left) return std::unexpected(GroupError{GroupError::kNotMember});
  return {};
}

std::expected<std::vector<Pid>, GroupError> members(Runtime* runtime, std::string group) {
  check(group);
  return ask(runtime, Start::kNo, Members{std::move(group)}, {});
}

std::expected<GroupMonitor, GroupError> watch(Runtime* runtime, std::string group,
                                              Port<GroupChange> watcher) {
  check(group);
  if (!watcher) {
    throw std::invalid_argument("bulkhead: nobody was to watch the process group \"" + group +
                                "\"");
  }
  return ask(runtime, Start::kYes, Watch{std::move(group), watcher}, {});
}

}  // namespace

// --- the actor -----------------------------------------------------------------------------------

namespace {

template <class Value>
void append(std::vector<Value>& values, std::size_t count, const Value& value) {
  values.insert(values.end(), count, value);
}

}  // namespace

// Who has started it asks it next; unless that one has ended in between.
void Groups::started() {
  unused_ = send_after(Timeout(std::chrono::milliseconds(100)), this_actor::address(this),
                       AreThereNone{});
}

void Groups::is_used() {
  if (unused_) static_cast<void>(cancel(*std::exchange(unused_, std::nullopt)));
}

bool Groups::receive(const Join& call) {
  is_used();
  Group& group = groups_[call.group];
  for (const Pid actor : call.actors) {
    known(actor).groups.insert(call.group);
    ++group.members[actor];
    ++group.size;
  }
  tell(group, call.group, call.actors, {});
  return true;
}

bool Groups::receive(const Leave& call) {
  const auto at = groups_.find(call.group);
  if (at == groups_.end()) return false;
  Group& group = at->second;
  std::vector<Pid> left;
  for (const Pid actor : call.actors) {
    const auto member = group.members.find(actor);
    if (member == group.members.end()) continue;
    left.push_back(actor);
    --group.size;
    if (--member->second != 0) continue;
    group.members.erase(member);
    const auto known = actors_.find(actor);
    known->second.groups.erase(call.group);
    forget_if_idle(known);
  }
  if (left.empty()) return false;
  tell(group, call.group, {}, left);
  forget_if_empty(at);
  return true;
}

std::vector<Pid> Groups::receive(const Members& call) {
  const auto group = groups_.find(call.group);
  return group != groups_.end() ? all_of(group->second) : std::vector<Pid>();
}

std::vector<std::string> Groups::receive(Which /*call*/) {
  std::vector<std::string> names;
  for (const auto& [name, group] : groups_) {
    if (group.size != 0) names.push_back(name);
  }
  return names;
}

GroupMonitor Groups::receive(const Watch& call) {
  is_used();
  const GroupMonitor monitor(this_actor::pid(), ++watches_made_);
  Group& group = groups_[call.group];
  watches_.emplace(monitor.number(), OneWatch{call.group, call.watcher});
  group.watches.insert(monitor.number());
  known(call.watcher.pid()).watches.insert(monitor.number());
  static_cast<void>(call.watcher.send(GroupChange{monitor, call.group, all_of(group), {}}));
  return monitor;
}

bool Groups::receive(Unwatch call) {
  const auto watch = watches_.find(call.number);
  if (watch == watches_.end()) return false;
  const auto watcher = actors_.find(watch->second.watcher.pid());
  watcher->second.watches.erase(call.number);
  forget_if_idle(watcher);
  end(watch);
  return true;
}

void Groups::receive(const Down& down) {
  const auto at = actors_.find(down.actor);
  if (at == actors_.end() || at->second.monitor != down.monitor) return;
  const Known gone = std::move(at->second);
  actors_.erase(at);
  for (const std::uint64_t number : gone.watches) end(watches_.find(number));
  for (const std::string& name : gone.groups) {
    const auto group = groups_.find(name);
    const auto member = group->second.members.find(down.actor);
    std::vector<Pid> left;
    append(left, member->second, down.actor);
    group->second.size -= member->second;
    group->second.members.erase(member);
    tell(group->second, name, {}, left);
    forget_if_empty(group);
  }
}

// When it has let go of the last group, calls may be under way: they are heard first.
void Groups::receive(AreThereNone /*message*/) {
  unused_.reset();
  if (groups_.empty()) this_actor::stop();
}

Groups::Known& Groups::known(Pid actor) {
  const auto [at, is_new] = actors_.try_emplace(actor);
  if (is_new) at->second.monitor = this_actor::monitor(actor);
  return at->second;
}

void Groups::forget_if_idle(std::unordered_map<Pid, Known>::iterator at) {
  if (!at->second.groups.empty() || !at->second.watches.empty()) return;
  static_cast<void>(this_actor::demonitor(at->second.monitor, this_actor::Flush::kYes));
  actors_.erase(at);
}

void Groups::end(std::unordered_map<std::uint64_t, OneWatch>::iterator watch) {
  const auto group = groups_.find(watch->second.group);
  group->second.watches.erase(watch->first);
  watches_.erase(watch);
  forget_if_empty(group);
}

void Groups::forget_if_empty(std::unordered_map<std::string, Group>::iterator at) {
  if (at->second.size != 0 || !at->second.watches.empty()) return;
  groups_.erase(at);
  if (groups_.empty()) static_cast<void>(this_actor::address(this).send(AreThereNone{}));
}

std::vector<Pid> Groups::all_of(const Group& group) {
  std::vector<Pid> all;
  all.reserve(group.size);
  for (const auto& [pid, count] : group.members) append(all, count, pid);
  return all;
}

void Groups::tell(const Group& group, const std::string& name, const std::vector<Pid>& joined,
                  const std::vector<Pid>& left) {
  for (const std::uint64_t number : group.watches) {
    const GroupMonitor monitor(this_actor::pid(), number);
    static_cast<void>(watches_.at(number).watcher.send(GroupChange{monitor, name, joined, left}));
  }
}

}  // namespace otp

// --- the public functions ------------------------------------------------------------------------

std::string to_string(const GroupError& error) {
  switch (error.kind) {
    case GroupError::kNotMember:
      return "it is not a member of the group";
    case GroupError::kFailed:
      return "the groups could not be asked: " + std::string(to_string(error.call));
  }
  return "unknown";
}

std::expected<void, GroupError> join_group(std::string group, Pid actor) {
  return otp::join(nullptr, std::move(group), {actor});
}
std::expected<void, GroupError> join_group(std::string group, std::vector<Pid> actors) {
  return otp::join(nullptr, std::move(group), std::move(actors));
}
std::expected<void, GroupError> join_group(Runtime& runtime, std::string group, Pid actor) {
  return otp::join(&runtime, std::move(group), {actor});
}
std::expected<void, GroupError> join_group(Runtime& runtime, std::string group,
                                           std::vector<Pid> actors) {
  return otp::join(&runtime, std::move(group), std::move(actors));
}

std::expected<void, GroupError> leave_group(std::string group, Pid actor) {
  return otp::leave(nullptr, std::move(group), {actor});
}
std::expected<void, GroupError> leave_group(std::string group, std::vector<Pid> actors) {
  return otp::leave(nullptr, std::move(group), std::move(actors));
}
std::expected<void, GroupError> leave_group(Runtime& runtime, std::string group, Pid actor) {
  return otp::leave(&runtime, std::move(group), {actor});
}
std::expected<void, GroupError> leave_group(Runtime& runtime, std::string group,
                                            std::vector<Pid> actors) {
  return otp::leave(&runtime, std::move(group), std::move(actors));
}

std::expected<std::vector<Pid>, GroupError> group_members(std::string group) {
  return otp::members(nullptr, std::move(group));
}
std::expected<std::vector<Pid>, GroupError> group_members(Runtime& runtime, std::string group) {
  return otp::members(&runtime, std::move(group));
}

std::expected<std::vector<std::string>, GroupError> which_groups() {
  return otp::ask(nullptr, otp::Start::kNo, otp::Which{}, {});
}
std::expected<std::vector<std::string>, GroupError> which_groups(Runtime& runtime) {
  return otp::ask(&runtime, otp::Start::kNo, otp::Which{}, {});
}

std::expected<GroupMonitor, GroupError> monitor_group(std::string group,
                                                      Port<GroupChange> watcher) {
  return otp::watch(nullptr, std::move(group), watcher);
}
std::expected<GroupMonitor, GroupError> monitor_group(Runtime& runtime, std::string group,
                                                      Port<GroupChange> watcher) {
  return otp::watch(&runtime, std::move(group), watcher);
}

bool demonitor_group(const GroupMonitor& monitor) {
  const Address<otp::Groups> keeper(monitor.keeper());
  return keeper.ask(otp::Unwatch{monitor.number()}, kForever).value_or(false);
}

}  // namespace bulkhead
