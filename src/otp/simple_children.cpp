// Children that are alike, without ids and in no order: kSimpleOneForOne.
#include <unordered_map>

#include "otp/supervisor_actor.hpp"

namespace bulkhead::otp {

namespace {

struct Another {
  std::function<ChildStart()> start;  // none for temporary ones
  Delay delay = {};
  std::uint64_t retry = 0;  // not zero: it does not run, and this starts it again
  std::uint32_t restarts = 0;
};

class Simple final : public Children {
 public:
  using Children::Children;

  std::expected<void, ChildError> begin() override { return {}; }

  std::expected<Pid, ChildError> start(ChildSpec spec) override {
    return std::unexpected(child_error(ChildError::Kind::kSimple, std::move(spec.id)));
  }

  std::expected<Pid, ChildError> start_another(std::function<ChildStart()> start) override {
    const ChildStart started = supervisor_.run(start, 0);
    if (!started) return std::unexpected(start_failed({}, started.error()));
    if (!*started) return *started;
    Another child;
    if (like().restart != Restart::kTemporary) child.start = std::move(start);
    child.delay.begin(Clock::now());
    all_.emplace(*started, std::move(child));
    ++running_;
    return *started;
  }

  std::expected<void, ChildError> terminate(const std::string& id) override {
    return std::unexpected(child_error(ChildError::Kind::kSimple, id));
  }

  std::expected<void, ChildError> terminate(Pid pid) override {
    const auto child = all_.find(pid);
    if (child == all_.end()) {
      return std::unexpected(child_error(ChildError::Kind::kNotFound, to_string(pid)));
    }
    if (child->second.retry == 0) {
      supervisor_.end(pid, like().how_to_shut_down());
      --running_;
    }
    all_.erase(pid);
    return {};
  }

  std::expected<Pid, ChildError> restart(const std::string& id) override {
    return std::unexpected(child_error(ChildError::Kind::kSimple, id));
  }
  std::expected<void, ChildError> remove(const std::string& id) override {
    return std::unexpected(child_error(ChildError::Kind::kSimple, id));
  }
  [[nodiscard]] std::expected<ChildSpec, ChildError> spec(const std::string& id) const override {
    return std::unexpected(child_error(ChildError::Kind::kSimple, id));
  }

  [[nodiscard]] std::vector<ChildInfo> list() const override {
    std::vector<ChildInfo> infos;
    infos.reserve(all_.size());
    for (const auto& [pid, child] : all_) {
      const bool runs = child.retry == 0;
      infos.push_back({{},
                       runs ? pid : Pid(),
                       runs ? ChildInfo::State::kRunning : ChildInfo::State::kRestarting,
                       like().type,
                       like().restart,
                       child.restarts});
    }
    return infos;
  }

  [[nodiscard]] ChildCount count() const override {
    ChildCount counts;
    counts.specs = all_.size();
    counts.active = running_;
    (like().type == ChildType::kSupervisor ? counts.supervisors : counts.workers) = all_.size();
    return counts;
  }

  void ended(Pid pid, const Exit& exit) override {
    const auto at = all_.find(pid);
    if (at == all_.end() || at->second.retry != 0) return;
    --running_;
    if (!is_restarted(like().restart, exit)) {
      all_.erase(at);
      supervisor_.note_end(like());
      return;
    }
    auto child = all_.extract(at);
    const auto delay = supervisor_.plan_restart(child.mapped().delay, {}, exit);
    if (!delay) return;
    if (delay->count() == 0) {
      start_again(std::move(child));
    } else {
      put_off(std::move(child), *delay);
    }
  }

  void retry(std::uint64_t number) override {
    const auto due = due_.find(number);
    if (due == due_.end()) return;
    const Pid pid = due->second;
    due_.erase(due);
    const auto child = all_.find(pid);
    if (child == all_.end() || child->second.retry != number) return;
    start_again(all_.extract(child));
  }

  void end() override {
    std::vector<Pid> pids;
    pids.reserve(running_);
    for (const auto& [pid, child] : all_) {
      if (child.retry == 0) pids.push_back(pid);
    }
    supervisor_.end_all(pids, like().how_to_shut_down());
    all_.clear();
    running_ = 0;
  }

  [[nodiscard]] bool no_significant_one_runs() const override { return all_.empty(); }

 private:
  using All = std::unordered_map<Pid, Another>;

  [[nodiscard]] const ChildSpec& like() const { return supervisor_.spec().like; }

  void start_again(All::node_type child) {
    const ChildStart started = supervisor_.run(child.mapped().start, child.mapped().restarts + 1);
    if (!started) {
      supervisor_.tell_not_started({}, started.error());
      const auto delay = supervisor_.plan_restart(child.mapped().delay, {}, started.error());
      if (delay) put_off(std::move(child), *delay);
      return;
    }
    if (!*started) return;  // it wants to be left out
    child.key() = *started;
    ++child.mapped().restarts;
    child.mapped().retry = 0;
    child.mapped().delay.begin(Clock::now());
    all_.insert(std::move(child));
    ++running_;
  }

  // It keeps its last pid, by which it can be called off.
  void put_off(All::node_type child, std::chrono::nanoseconds delay) {
    child.mapped().retry = supervisor_.retry_after(delay);
    due_.emplace(child.mapped().retry, child.key());
    all_.insert(std::move(child));
  }

  All all_;
  std::size_t running_ = 0;
  std::unordered_map<std::uint64_t, Pid> due_;  // restarts that were put off
};

}  // namespace

std::unique_ptr<Children> simple_children(Supervisor& supervisor) {
  return std::make_unique<Simple>(supervisor);
}

}  // namespace bulkhead::otp
