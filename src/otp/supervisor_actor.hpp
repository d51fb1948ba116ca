// The actor behind a SupervisorRef.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bulkhead/links.hpp"
#include "bulkhead/otp/supervisor.hpp"
#include "bulkhead/otp/system.hpp"
#include "otp/restarts.hpp"

namespace bulkhead::otp {

class Children;

/// Calls, each answered with what SupervisorRef returns.
struct Begin {
  std::optional<std::string> name;  // that it is to have
};
struct StartChild {
  ChildSpec spec;
};
struct StartAnother {
  std::function<ChildStart()> start;
};
struct TerminateChild {
  std::string id;
};
struct TerminatePid {
  Pid child;
};
struct RestartChild {
  std::string id;
};
struct DeleteChild {
  std::string id;
};
struct WhichChildren {};
struct CountChildren {};
struct GetSpec {
  std::string id;
};
/// Answered by its end.
struct Stop {
  using Answer = void;
  Exit reason;
};
/// To itself: a restart that was put off is due. Void when the child was started since, or has
/// gone.
struct Retry {
  std::uint64_t number;
};

/// For sys::get_state.
struct GetChildren {};
template <>
inline constexpr bool kIsSystem<GetChildren> = true;

/// For tests: how many messages it has looked at while it waited for children to end.
struct GetLooks {};
template <>
inline constexpr bool kIsSystem<GetLooks> = true;

class Supervisor : public System<Supervisor> {
 public:
  /// Ends of children stay in order with what children have sent before. A Down is of one whose end
  /// is waited for: it comes in front of whatever else there is.
  template <class M>
  static constexpr Priority kPriority = std::is_same_v<M, Down> ? Priority::kSignal
                                        : kIsSystem<M>          ? Priority::kSystem
                                                                : Priority::kOrdinary;

  Supervisor(SupervisorSpec spec, Pid parent);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  void started();

  std::expected<void, ChildError> receive(Begin begin);
  std::expected<Pid, ChildError> receive(StartChild call);
  std::expected<Pid, ChildError> receive(StartAnother call);
  std::expected<void, ChildError> receive(TerminateChild call);
  std::expected<void, ChildError> receive(TerminatePid call);
  std::expected<Pid, ChildError> receive(RestartChild call);
  std::expected<void, ChildError> receive(DeleteChild call);
  std::expected<std::vector<ChildInfo>, ChildError> receive(WhichChildren);
  std::expected<ChildCount, ChildError> receive(CountChildren);
  std::expected<ChildSpec, ChildError> receive(GetSpec call);
  void receive(Stop call, Reply<void> reply);
  void receive(Exited exited);
  void receive(Down /*late*/) {}
  void receive(Retry retry);

  using System::receive;
  std::vector<ChildInfo> receive(GetChildren /*message*/);
  std::uint64_t receive(GetLooks /*message*/) { return looks_; }
  [[nodiscard]] bool ends_system() const noexcept { return over_; }
  [[nodiscard]] Pid system_parent() const noexcept { return parent_; }
  [[nodiscard]] std::string system_status() const;
  void end_system(const Exit& reason) { give_up(reason); }

  // --- for its Children --------------------------------------------------------------------------

  [[nodiscard]] const SupervisorSpec& spec() const noexcept { return spec_; }
  /// Runs a start function, of a child that has run so often before; exceptions, and a link to one
  /// that has gone, are failures like others.
  [[nodiscard]] ChildStart run(const std::function<ChildStart()>& start, std::uint32_t runs);
  /// The same for a child that may have a name, which it is given.
  [[nodiscard]] ChildStart run(const ChildSpec& spec, std::uint32_t runs);
  /// The name that the child is to have that is being started; none when none is, or it has none.
  [[nodiscard]] const std::optional<std::string>& child_name() const noexcept {
    return child_name_;
  }
  /// Tells the log of one that could not be started again, which nobody else hears of.
  void tell_not_started(const std::string& id, const Exit& why) const;
  /// Ends one, which is no child any more afterwards, and says how it has ended.
  Exit end(Pid child, Shutdown how);
  /// The same for many at once.
  void end_all(const std::vector<Pid>& children, Shutdown how);
  /// Counts a restart of a child that has ended, or not started, for that reason, and says when it
  /// is due; none: the supervisor gives up, and ends.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> plan_restart(Delay& delay,
                                                                     const std::string& id,
                                                                     const Exit& why);
  /// Has Children::retry(number) called after `delay`. Returns the number.
  std::uint64_t retry_after(std::chrono::nanoseconds delay);
  /// A child that will not be started again has ended by itself.
  void note_end(const ChildSpec& child);
  /// Ends all children, and then the supervisor.
  void give_up(const Exit& reason);

 private:
  /// From then on its Down tells of it; an Exited means nothing.
  MonitorRef ask_to_end(Pid child, Shutdown how);
  /// The Down that is wanted; none when time is up.
  template <class Wanted>
  [[nodiscard]] std::optional<Down> await(Timeout patience, Wanted is_it);

  std::optional<Reply<void>> stopper_;  // let go last, which tells that all is gone
  SupervisorSpec spec_;
  Pid parent_;
  Intensity intensity_;
  std::minstd_rand random_;
  std::uint64_t retries_ = 0;
  std::uint64_t looks_ = 0;
  bool over_ = false;
  std::optional<std::string> child_name_;
  std::unique_ptr<Children> children_;
};

/// The children of a supervisor: in order, each with an id, or alike and without. See children.cpp
/// and simple_children.cpp.
class Children {
 public:
  explicit Children(Supervisor& supervisor) : supervisor_(supervisor) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  virtual ~Children() = default;

  virtual std::expected<void, ChildError> begin() = 0;
  virtual std::expected<Pid, ChildError> start(ChildSpec spec) = 0;
  virtual std::expected<Pid, ChildError> start_another(std::function<ChildStart()> start) = 0;
  virtual std::expected<void, ChildError> terminate(const std::string& id) = 0;
  virtual std::expected<void, ChildError> terminate(Pid pid) = 0;
  virtual std::expected<Pid, ChildError> restart(const std::string& id) = 0;
  virtual std::expected<void, ChildError> remove(const std::string& id) = 0;
  [[nodiscard]] virtual std::vector<ChildInfo> list() const = 0;
  [[nodiscard]] virtual ChildCount count() const = 0;
  [[nodiscard]] virtual std::expected<ChildSpec, ChildError> spec(const std::string& id) const = 0;
  /// That actor has ended by itself; perhaps none of them.
  virtual void ended(Pid pid, const Exit& exit) = 0;
  virtual void retry(std::uint64_t number) = 0;
  /// Ends them, in the right order.
  virtual void end() = 0;
  /// Does none of the significant ones run?
  [[nodiscard]] virtual bool no_significant_one_runs() const = 0;

 protected:
  Supervisor& supervisor_;
};

[[nodiscard]] std::unique_ptr<Children> children_in_order(Supervisor& supervisor,
                                                          std::vector<ChildSpec> specs);
[[nodiscard]] std::unique_ptr<Children> simple_children(Supervisor& supervisor);

/// Is one that ended so to be started again?
[[nodiscard]] bool is_restarted(Restart restart, const Exit& exit) noexcept;

[[nodiscard]] inline ChildError child_error(ChildError::Kind kind, std::string id = {}) {
  ChildError error{kind};
  error.id = std::move(id);
  return error;
}
[[nodiscard]] inline ChildError start_failed(std::string id, Exit exit) {
  ChildError error = child_error(ChildError::Kind::kFailed, std::move(id));
  error.exit = std::move(exit);
  return error;
}
[[nodiscard]] inline ChildError spec_error(SpecFault fault, std::string id = {}) {
  ChildError error = child_error(ChildError::Kind::kSpec, std::move(id));
  error.fault = fault;
  return error;
}

/// What is wrong with it, if anything: by itself, and all of a supervisor's.
[[nodiscard]] std::optional<ChildError> check(const ChildSpec& spec, const SupervisorSpec& of);
[[nodiscard]] std::optional<ChildError> check(const SupervisorSpec& spec);

}  // namespace bulkhead::otp
