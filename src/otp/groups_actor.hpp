// The actor that keeps the groups of a runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bulkhead/links.hpp"
#include "bulkhead/otp/groups.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/timer.hpp"

namespace bulkhead::otp {

/// Calls.
struct Join {
  std::string group;
  std::vector<Pid> actors;
};
struct Leave {
  std::string group;
  std::vector<Pid> actors;
};
struct Members {
  std::string group;
};
struct Which {};
struct Watch {
  std::string group;
  Port<GroupChange> watcher;
};
struct Unwatch {
  std::uint64_t number;
};
/// To itself: ends it, if it has nothing to keep.
struct AreThereNone {};

class Groups {
 public:
  void started();

  bool receive(const Join& call);
  bool receive(const Leave& call);
  std::vector<Pid> receive(const Members& call);
  std::vector<std::string> receive(Which call);
  GroupMonitor receive(const Watch& call);
  bool receive(Unwatch call);
  void receive(const Down& down);
  void receive(AreThereNone message);

 private:
  struct Group {
    std::unordered_map<Pid, std::size_t> members;  // how often each has joined
    std::size_t size = 0;                          // joins of all
    std::set<std::uint64_t> watches;               // in order, so that they are told in order
  };
  struct OneWatch {
    std::string group;
    Port<GroupChange> watcher;
  };
  /// A member or a watcher.
  struct Known {
    MonitorRef monitor;
    std::unordered_set<std::string> groups;
    std::set<std::uint64_t> watches;
  };

  void is_used();
  Known& known(Pid actor);
  void forget_if_idle(std::unordered_map<Pid, Known>::iterator at);
  void end(std::unordered_map<std::uint64_t, OneWatch>::iterator watch);
  void forget_if_empty(std::unordered_map<std::string, Group>::iterator at);
  [[nodiscard]] static std::vector<Pid> all_of(const Group& group);
  void tell(const Group& group, const std::string& name, const std::vector<Pid>& joined,
            const std::vector<Pid>& left);

  std::unordered_map<std::string, Group> groups_;
  std::unordered_map<Pid, Known> actors_;
  std::unordered_map<std::uint64_t, OneWatch> watches_;
  std::uint64_t watches_made_ = 0;
  std::optional<TimerRef> unused_;
};

}  // namespace bulkhead::otp
