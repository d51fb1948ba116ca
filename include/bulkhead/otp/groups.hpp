/// Process groups: actors that are found, and watched, by what they have in common.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bulkhead/address.hpp"
#include "bulkhead/ask.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/runtime.hpp"

namespace bulkhead {

/// A watch of a group, for ending it.
class GroupMonitor {
 public:
  GroupMonitor() = default;
  GroupMonitor(Pid keeper, std::uint64_t number) noexcept : keeper_(keeper), number_(number) {}
  [[nodiscard]] Pid keeper() const noexcept { return keeper_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  friend bool operator==(const GroupMonitor&, const GroupMonitor&) = default;

 private:
  Pid keeper_;
  std::uint64_t number_ = 0;
};

/// The message that who watches a group gets: first with the members that it has, perhaps none,
/// then at each change.
struct GroupChange {
  GroupMonitor monitor;
  std::string group;
  std::vector<Pid> joined;
  std::vector<Pid> left;  ///< or ended; as often as it had joined
};

struct GroupError {
  enum class Kind : std::uint8_t {
    kNotMember,  ///< none of those that were to leave is a member
    kFailed,     ///< the groups could not be asked: see `call`
  };
  static constexpr Kind kNotMember = Kind::kNotMember;
  static constexpr Kind kFailed = Kind::kFailed;

  Kind kind;
  AskError call{};

  friend bool operator==(const GroupError& error, Kind is) noexcept { return error.kind == is; }
};
[[nodiscard]] std::string to_string(const GroupError& error);

// A group is there while it has members. It has any name but the empty one, which throws
// std::invalid_argument, as no actor does (Pid()). The groups of a runtime are kept by an actor,
// which is started by the first who joins or watches, has the name "bulkhead.groups" in the
// registry, and ends when there are none left. These functions ask it, and so they wait; they throw
// what spawn throws. Those without a Runtime are for actors; the others for any thread.

/// An actor becomes a member, or is so once more: it must leave as often as it has joined. It
/// leaves when it ends; if it has ended already, at once.
std::expected<void, GroupError> join_group(std::string group, Pid actor);
std::expected<void, GroupError> join_group(std::string group, std::vector<Pid> actors);
std::expected<void, GroupError> join_group(Runtime& runtime, std::string group, Pid actor);
std::expected<void, GroupError> join_group(Runtime& runtime, std::string group,
                                           std::vector<Pid> actors);

/// Of several, those leave that are members.
std::expected<void, GroupError> leave_group(std::string group, Pid actor);
std::expected<void, GroupError> leave_group(std::string group, std::vector<Pid> actors);
std::expected<void, GroupError> leave_group(Runtime& runtime, std::string group, Pid actor);
std::expected<void, GroupError> leave_group(Runtime& runtime, std::string group,
                                            std::vector<Pid> actors);

/// In no order; each as often as it has joined. Who has just ended may still be among them.
[[nodiscard]] std::expected<std::vector<Pid>, GroupError> group_members(std::string group);
[[nodiscard]] std::expected<std::vector<Pid>, GroupError> group_members(Runtime& runtime,
                                                                        std::string group);
/// Those that have members, in no order.
[[nodiscard]] std::expected<std::vector<std::string>, GroupError> which_groups();
[[nodiscard]] std::expected<std::vector<std::string>, GroupError> which_groups(Runtime& runtime);

/// From now on `watcher`, such as this_actor::address(this), gets messages GroupChange, until it
/// ends, or the watch does. What a bounded mailbox has no room for it misses.
std::expected<GroupMonitor, GroupError> monitor_group(std::string group, Port<GroupChange> watcher);
std::expected<GroupMonitor, GroupError> monitor_group(Runtime& runtime, std::string group,
                                                      Port<GroupChange> watcher);
/// When it returns, no more messages are sent for that watch; some may wait in the mailbox. Any
/// thread. False when there is no such watch.
bool demonitor_group(const GroupMonitor& monitor);

}  // namespace bulkhead
