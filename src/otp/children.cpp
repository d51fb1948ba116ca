// Children in order, each with an id: all strategies but kSimpleOneForOne.
#include <iterator>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "otp/supervisor_actor.hpp"

namespace bulkhead::otp {

namespace {

using State = ChildInfo::State;

struct Child {
  ChildSpec spec;
  State state = State::kStopped;
  Pid pid = {};
  Delay delay = {};
  std::uint64_t retry = 0;  // while it is restarting: the number of what starts it again
  std::uint32_t runs = 0;   // it has been started so often
};

class InOrder final : public Children {
 public:
  InOrder(Supervisor& supervisor, std::vector<ChildSpec> specs) : Children(supervisor) {
    for (ChildSpec& spec : specs) add(std::move(spec));
  }

  std::expected<void, ChildError> begin() override {
    for (At child = all_.begin(); child != all_.end();) {
      const At next = std::next(child);
      const auto started = launch(child);
      if (!started) return std::unexpected(start_failed(child->spec.id, started.error()));
      if (!*started) forget_if_temporary(child);
      child = next;
    }
    return {};
  }

  std::expected<Pid, ChildError> start(ChildSpec spec) override {
    if (const At* found = find(spec.id)) return std::unexpected(why_present(**found));
    const At child = add(std::move(spec));
    const auto started = launch(child);
    if (!started) {
      ChildError error = start_failed(child->spec.id, started.error());
      forget(child);
      return std::unexpected(std::move(error));
    }
    if (!*started) forget_if_temporary(child);
    return *started;
  }

  std::expected<Pid, ChildError> start_another(std::function<ChildStart()> /*start*/) override {
    return std::unexpected(spec_error(SpecFault::kNoId));
  }

  std::expected<void, ChildError> terminate(const std::string& id) override {
    const At* found = find(id);
    if (found == nullptr) return std::unexpected(child_error(ChildError::Kind::kNotFound, id));
    const At child = *found;
    stop(child);
    forget_if_temporary(child);
    return {};
  }

  std::expected<void, ChildError> terminate(Pid pid) override {
    const auto found = by_pid_.find(pid);
    if (found == by_pid_.end()) {
      return std::unexpected(child_error(ChildError::Kind::kNotFound, to_string(pid)));
    }
    const At child = found->second;
    stop(child);
    forget_if_temporary(child);
    return {};
  }

  std::expected<Pid, ChildError> restart(const std::string& id) override {
    const At* found = find(id);
    if (found == nullptr) return std::unexpected(child_error(ChildError::Kind::kNotFound, id));
    const At child = *found;
    if (child->state != State::kStopped) return std::unexpected(why_not_stopped(*child));
    const auto started = launch(child);
    if (!started) return std::unexpected(start_failed(id, started.error()));
    return *started;
  }

  std::expected<void, ChildError> remove(const std::string& id) override {
    const At* found = find(id);
    if (found == nullptr) return std::unexpected(child_error(ChildError::Kind::kNotFound, id));
    if ((*found)->state != State::kStopped) return std::unexpected(why_not_stopped(**found));
    forget(*found);
    return {};
  }

  [[nodiscard]] std::vector<ChildInfo> list() const override {
    std::vector<ChildInfo> infos;
    infos.reserve(all_.size());
    for (const Child& child : all_) {
      infos.push_back({child.spec.id, child.pid, child.state, child.spec.type, child.spec.restart,
                       child.runs != 0 ? child.runs - 1 : 0});
    }
    return infos;
  }

  [[nodiscard]] ChildCount count() const override {
    ChildCount counts;
    for (const Child& child : all_) {
      ++counts.specs;
      if (child.state == State::kRunning) ++counts.active;
      ++(child.spec.type == ChildType::kSupervisor ? counts.supervisors : counts.workers);
    }
    return counts;
  }

  [[nodiscard]] std::expected<ChildSpec, ChildError> spec(const std::string& id) const override {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return std::unexpected(child_error(ChildError::Kind::kNotFound, id));
    return found->second->spec;
  }

  void ended(Pid pid, const Exit& exit) override {
    const auto found = by_pid_.find(pid);
    if (found == by_pid_.end()) return;
    const At child = found->second;
    has_ended(child);
    if (is_restarted(child->spec.restart, exit)) return start_again(child, exit);
    if (child->spec.restart == Restart::kTemporary) {
      const ChildSpec spec = child->spec;
      forget(child);
      supervisor_.note_end(spec);
    } else {
      supervisor_.note_end(child->spec);
    }
  }

  void retry(std::uint64_t number) override {
    const auto due = due_.find(number);
    if (due == due_.end()) return;
    const At child = due->second;
    end_group(child);
    start_group(child);
  }

  void end() override {
    for (At child = all_.end(); child != all_.begin();) {
      --child;
      stop(child);
    }
  }

  [[nodiscard]] bool no_significant_one_runs() const override {
    for (const Child& child : all_) {
      if (child.spec.significant && child.state != State::kStopped) return false;
    }
    return true;
  }

 private:
  using At = std::list<Child>::iterator;

  At add(ChildSpec spec) {
    const At child = all_.insert(all_.end(), Child{std::move(spec)});
    by_id_.emplace(child->spec.id, child);
    return child;
  }
  void forget(At child) {
    by_id_.erase(child->spec.id);
    all_.erase(child);
  }
  void forget_if_temporary(At child) {
    if (child->spec.restart == Restart::kTemporary) forget(child);
  }
  [[nodiscard]] const At* find(const std::string& id) const {
    const auto found = by_id_.find(id);
    return found != by_id_.end() ? &found->second : nullptr;
  }

  static ChildError why_present(const Child& child) {
    if (child.state == State::kStopped) {
      return child_error(ChildError::Kind::kAlreadyPresent, child.spec.id);
    }
    ChildError error =
        child_error(child.state == State::kRunning ? ChildError::Kind::kAlreadyStarted
                                                   : ChildError::Kind::kRestarting,
                    child.spec.id);
    error.pid = child.pid;
    return error;
  }
  static ChildError why_not_stopped(const Child& child) {
    ChildError error = child_error(
        child.state == State::kRunning ? ChildError::Kind::kRunning : ChildError::Kind::kRestarting,
        child.spec.id);
    error.pid = child.pid;
    return error;
  }

  // Starts one that does not run. What a temporary one was started by is needed no more, and may
  // be large.
  ChildStart launch(At child) {
    ChildStart started = supervisor_.run(child->spec, child->runs);
    child->state = State::kStopped;
    if (!started || !*started) return started;
    ++child->runs;
    child->state = State::kRunning;
    child->pid = *started;
    if (child->spec.restart == Restart::kTemporary) child->spec.start = nullptr;
    child->delay.begin(Clock::now());
    by_pid_.emplace(child->pid, child);
    return started;
  }

  void has_ended(At child) {
    by_pid_.erase(child->pid);
    child->pid = Pid();
    child->state = State::kStopped;
    due_.erase(std::exchange(child->retry, 0));
  }

  // Ends one, if it runs; calls a restart off.
  void stop(At child) {
    if (child->state == State::kRunning)
      supervisor_.end(child->pid, child->spec.how_to_shut_down());
    has_ended(child);
  }

  // A child has ended, or could not be started, and is to be.
  void start_again(At child, const Exit& why) {
    const auto delay = supervisor_.plan_restart(child->delay, child->spec.id, why);
    if (!delay) return;
    end_group(child);
    if (delay->count() == 0) return start_group(child);
    put_off(child, *delay);
  }

  void put_off(At child, std::chrono::nanoseconds delay) {
    child->state = State::kRestarting;
    child->retry = supervisor_.retry_after(delay);
    due_.emplace(child->retry, child);
  }

  // Who is started again with it.
  [[nodiscard]] std::pair<At, At> group(At child) {
    switch (supervisor_.spec().strategy) {
      case Strategy::kOneForAll:
        return {all_.begin(), all_.end()};
      case Strategy::kRestForOne:
        return {child, all_.end()};
      case Strategy::kOneForOne:
      case Strategy::kSimpleOneForOne:
        break;
    }
    return {child, std::next(child)};
  }

  // Temporary ones that end with the others are not started again; nor are they counted.
  void end_group(At child) {
    const auto [first, last] = group(child);
    for (At each = last; each != first;) {
      --each;
      stop(each);
      if (each != child && each->spec.restart == Restart::kTemporary) {
        const At gone = each++;
        const bool was_first = gone == first;
        forget(gone);
        if (was_first) break;
      }
    }
  }

  // In order. Where one does not start, that one is started again: later, so that calls are
  // answered in between.
  void start_group(At child) {
    auto [first, last] = group(child);
    for (At each = first; each != last;) {
      const At next = std::next(each);
      const auto started = launch(each);
      if (!started) {
        supervisor_.tell_not_started(each->spec.id, started.error());
        const auto delay = supervisor_.plan_restart(each->delay, each->spec.id, started.error());
        if (delay) put_off(each, *delay);
        return;
      }
      if (!*started) forget_if_temporary(each);
      each = next;
    }
  }

  std::list<Child> all_;  // as they are started
  std::unordered_map<std::string, At> by_id_;
  std::unordered_map<Pid, At> by_pid_;
  std::unordered_map<std::uint64_t, At> due_;  // restarts that were put off
};

}  // namespace

std::unique_ptr<Children> children_in_order(Supervisor& supervisor, std::vector<ChildSpec> specs) {
  return std::make_unique<InOrder>(supervisor, std::move(specs));
}

}  // namespace bulkhead::otp
