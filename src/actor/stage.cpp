#include "bulkhead/stage.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

#include "actor/refusals.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/drive.hpp"
#include "core/slab.hpp"
#include "machine/pages.hpp"

namespace bulkhead {

namespace {

constexpr std::size_t kMostActors = std::size_t{1} << 20;
constexpr std::size_t kMostMailbox = 1'000'000;
constexpr std::size_t kMostMessageBytes = 3072;
constexpr std::size_t kMostTimers = std::size_t{1} << 24;

void check(const char* setting, std::size_t given, std::size_t least, std::size_t most) {
  if (given >= least && given <= most) return;
  throw ConfigError(std::string("bulkhead: StageConfig::") + setting + " is " +
                    std::to_string(given) + "; it must be " + std::to_string(least) + " to " +
                    std::to_string(most));
}

// All of it is taken, and written to: a machine that has less would come to a standstill.
void check_memory(const core::StageBounds& bounds) {
  const std::size_t wanted = bounds.messages * (core::kSmallestBlock << bounds.message_class);
  const std::size_t there_is = machine::memory_bytes();
  if (wanted <= there_is) return;
  throw ConfigError("bulkhead: StageConfig: the mailboxes of " + std::to_string(bounds.actors) +
                    " actors, with " + std::to_string(bounds.mailbox) +
                    " messages each, would take " + std::to_string(wanted) +
                    " bytes; the machine has " + std::to_string(there_is));
}

core::StageBounds bounds_of(const StageConfig& config) {
  check("actors", config.actors, 1, kMostActors);
  check("mailbox", config.mailbox, 1, kMostMailbox);
  check("message_bytes", config.message_bytes, 1, kMostMessageBytes);
  check("timers", config.timers, 0, kMostTimers);
  const core::StageBounds bounds{
      .actors = config.actors,
      .messages = config.actors * config.mailbox + config.timers,
      .message_class = core::block_class(sizeof(Signal) + config.message_bytes),
      .timers = static_cast<std::uint32_t>(config.timers),
      .mailbox = config.mailbox};
  check_memory(bounds);
  return bounds;
}

Config config_of(const StageConfig& stage) {
  Config config;
  config.cores = 1;
  config.bind_cores = false;
  config.max_actors = stage.actors;
  config.stack_size = stage.stack_size;
  config.run_queue = RunQueue::kRounds;
  config.report_faults = stage.report_faults;
  config.on_death = stage.on_death;
  config.on_dead_letter = stage.on_dead_letter;
  config.log = stage.log;
  return config;
}

}  // namespace

// Of one thread at a time, by whichever function.
class Stage::Turn {
 public:
  Turn(const Stage& stage, const char* function) : domain_(*stage.domain_) {
    refuse_in_fork(domain_, function);
    refuse_in_actor(function);
    if (!domain_.claim_stage()) {
      throw std::logic_error(std::string("bulkhead: ") + function +
                             " was called while the stage runs, by another thread");
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { domain_.leave_stage(); }

 private:
  core::Domain& domain_;
};

Stage::Stage(const StageConfig& config) {
  refuse_in_actor("Stage::Stage", "a stage runs on a thread that runs nothing else meanwhile");
  const core::StageBounds bounds = bounds_of(config);
  const Config whole = checked(config_of(config));
  core::Slab::process();
  domain_ = &core::Domain::take(whole, bounds);
  try {
    domain_->start();
  } catch (...) {
    core::Domain::give(*domain_);
    throw;
  }
}

Stage::~Stage() {
  if (domain_->left_behind()) return;
  if (core::Core::current() != nullptr || !domain_->claim_stage()) {
    std::fputs(
        "bulkhead: a stage is destroyed in an actor, or while it runs; it is left as it is\n",
        stderr);
    return;
  }
  if (domain_->running()) domain_->stop(core::Domain::Left::kIdle);
  domain_->leave_stage();
  core::Domain::give(*domain_);
}

Stage::End Stage::run(Timeout time, const std::stop_token& stop) {
  return run_to(machine::later(machine::now(), time.nanoseconds()), stop);
}

Stage::End Stage::run_until(std::chrono::steady_clock::time_point deadline,
                            const std::stop_token& stop) {
  return run_to(
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count(),
      stop);
}

Stage::End Stage::run_to(std::int64_t deadline, const std::stop_token& stop) {
  const Turn turn(*this, "Stage::run");
  if (!domain_->running()) return End::kNobodyLives;
  core::Drive drive;
  drive.deadline = deadline;
  const std::stop_callback asked(stop, [&] {
    drive.end_asked.store(true, std::memory_order_relaxed);
    domain_->ring_bell();
  });
  domain_->lend_thread(drive);
  switch (drive.end) {
    case core::Drive::End::kNobodyLives:
      return End::kNobodyLives;
    case core::Drive::End::kAsked:
      return End::kStopped;
    case core::Drive::End::kTimeIsUp:
      break;
  }
  return End::kDeadline;
}

void Stage::shutdown() {
  const Turn turn(*this, "Stage::shutdown");
  if (domain_->running()) domain_->stop(core::Domain::Left::kIdle);
  domain_->start();
}

const void* Stage::state_of(Pid actor, std::string_view actor_class) const {
  const Turn turn(*this, "Stage::node");
  if (!actor) return nullptr;
  const core::Slot* slot = core::Slab::find(actor.index());
  if (!core::lives(slot, actor) || !slot->lives || slot->kind->name != actor_class) return nullptr;
  const core::Core* home = core::core_at(slot->home.load(std::memory_order_acquire));
  if (home == nullptr || home->domain.load(std::memory_order_relaxed) != domain_) return nullptr;
  const bool is_made = !slot->isolated() || !slot->has(core::Slot::kStartPending);
  return is_made ? slot->state : nullptr;
}

}  // namespace bulkhead
