#include "core/domain.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "core/faults.hpp"
#include "core/names.hpp"
#include "core/slab.hpp"
#include "machine/cpus.hpp"
#include "machine/fork.hpp"

namespace bulkhead::core {

namespace {

// The cores of the process. Entries are written once, under the lock, and never removed.
RealSync::atomic<Core*> core_table[kMaxCores];

// Messages that threads outside sent to nobody that any domain knows.
RealSync::atomic<std::uint64_t> strays{0};

struct Registry {
  machine::ForkMutex lock{machine::Nesting::kOuter};
  std::size_t made = 0;
  std::vector<Core*> free_cores;
  Domain* free_domains = nullptr;
  std::size_t running = 0;
  std::vector<void (*)() noexcept> when_none_runs;
};

Registry& registry() {
  static auto* made = new Registry;  // never destroyed: see rule D1
  return *made;
}

Core& take_core() {
  Registry& all = registry();
  sync::Guard guard(all.lock);
  if (!all.free_cores.empty()) {
    Core* core = all.free_cores.back();
    all.free_cores.pop_back();
    return *core;
  }
  if (all.made == kMaxCores) {
    throw std::runtime_error(
        "bulkhead: no more than " + std::to_string(kMaxCores) +
        " cores, of all runtimes together and counting actors with a thread of "
        "their own, can exist in a process");
  }
  all.free_cores.reserve(all.made + 1);  // so that giving one back cannot fail
  auto* core = new Core;
  core->index = core->quick_home = static_cast<std::uint16_t>(all.made);
  core_table[all.made].store(core, std::memory_order_release);
  ++all.made;
  return *core;
}

void give_core(Core& core) noexcept {
  Registry& all = registry();
  sync::Guard guard(all.lock);
  core.domain.store(nullptr, std::memory_order_release);
  all.free_cores.push_back(&core);
}

void reset(Counts& counts) noexcept {
  for (Count* count : {&counts.sent, &counts.handled, &counts.dropped_sent, &counts.refused,
                       &counts.timeouts_armed, &counts.timeouts_ended, &counts.started,
                       &counts.ended, &counts.failed, &counts.trapped, &counts.restarted,
                       &counts.downs_lost, &counts.moved, &counts.slept}) {
    count->reset();
  }
  for (Count& count : counts.dropped) count.reset();
}

void reset(OutsideCounts& counts) noexcept {
  for (auto* count : {&counts.sent, &counts.started}) {
    count->store(0, std::memory_order_relaxed);
  }
  for (auto& count : counts.dropped) count.store(0, std::memory_order_relaxed);
}

// How often this process was forked off another.
RealSync::atomic<std::uint32_t> forks{0};

// In the child, where the runtimes that ran do not run.
void in_fork() {
  forks.fetch_add(1, std::memory_order_relaxed);
  Core::forget_in_fork();
  registry().running = 0;
}

void one_more_runs() noexcept {
  sync::Guard guard(registry().lock);
  ++registry().running;
}

void one_less_runs() {
  Registry& all = registry();
  std::vector<void (*)() noexcept> told;
  {
    sync::Guard guard(all.lock);
    if (--all.running == 0) told = all.when_none_runs;
  }
  for (auto* function : told) function();
}

}  // namespace

void when_none_runs(void (*function)() noexcept) {
  sync::Guard guard(registry().lock);
  registry().when_none_runs.push_back(function);
}

Core* core_at(std::uint16_t index) noexcept {
  return index < kMaxCores ? core_table[index].load(std::memory_order_acquire) : nullptr;
}

// --- making and giving back ----------------------------------------------------------------------

Domain& Domain::take(const Config& config, std::size_t cores) {
  Domain* domain = nullptr;
  {
    sync::Guard guard(registry().lock);
    domain = registry().free_domains;
    if (domain != nullptr) registry().free_domains = domain->next_free_;
  }
  if (domain == nullptr) domain = new Domain;
  domain->config_ = config;
  domain->cpus_ = machine::allowed_cpus();
  domain->stack_class = machine::stack_class(config.stack_size);
  reset(domain->outside);
  try {
    domain->names_ = std::make_shared<Names>(*domain);
    for (std::size_t i = 0; i < cores; ++i) domain->add_core();
    if (is_shared(config.run_queue)) domain->make_commons(cores);
  } catch (...) {
    give(*domain);
    throw;
  }
  for (std::size_t i = 0; i < cores; ++i) domain->cores_[i]->reclaimed_ = domain->reclaim();
  domain->core_count_ = cores;
  domain->hooks_.open();
  return *domain;
}

Core& Domain::add_core() {
  Core& core = take_core();
  reset(core.counts);
  core.solo = false;
  core.worker = nullptr;
  core.commons = nullptr;
  core.trace_epoch_ = trace.epoch() - 1;  // it follows at its first turn
  core.domain.store(this, std::memory_order_release);
  const std::size_t place = all_cores_.load(std::memory_order_relaxed);
  core.place = static_cast<std::uint16_t>(place);
  cores_[place] = &core;
  all_cores_.store(place + 1, std::memory_order_release);  // [pair domain.cores]
  return core;
}

void Domain::make_commons(std::size_t cores) {
  Core& home = take_core();
  try {
    commons_ = std::make_unique<Commons>(*this, home, config_.run_queue, cores);
  } catch (...) {
    give_core(home);
    throw;
  }
  home.place = kNoCore;
  home.solo = false;
  home.stands_for = commons_.get();
  home.domain.store(this, std::memory_order_release);
  for (std::size_t i = 0; i < cores; ++i) cores_[i]->commons = commons_.get();
}

void Domain::end_commons() noexcept {
  if (commons_ == nullptr) return;
  Core& home = commons_->home();
  home.stands_for = nullptr;
  give_core(home);
  commons_.reset();
}

void Domain::give(Domain& domain) noexcept {
  domain.hooks_.close();  // a thread outside that is in one of them comes out of it first
  const std::size_t count = domain.all_cores_.exchange(0);
  for (std::size_t i = 0; i < count; ++i) give_core(*domain.cores_[i]);
  domain.end_commons();
  domain.names_.reset();
  domain.trace.forget();
  domain.config_ = Config{};
  domain.stage_.reset();
  domain.vacant_solos_.clear();
  domain.core_count_ = 0;
  domain.granted_.store(0);
  sync::Guard guard(registry().lock);
  domain.next_free_ = registry().free_domains;
  registry().free_domains = &domain;
}

// --- start and stop ------------------------------------------------------------------------------

void Domain::start(const std::optional<TraceSettings>& trace_by_default) {
  BULKHEAD_CHECK(phase_.load() == Phase::kStopped, "a domain is started once");
  reported_.store(false);
  static const bool told = machine::in_each_fork(&in_fork);
  if (!told) throw std::bad_alloc();
  one_more_runs();
  if (config_.report_faults) report_faults();
  process_ = machine::process_id();
  forks_ = forks.load(std::memory_order_relaxed);
  trace.begin_with(config_.trace ? config_.trace : trace_by_default);
  phase_.store(Phase::kRunning, std::memory_order_release);
  if (commons_ != nullptr) commons_->restart(machine::now());
  try {
    reporter.start(config_.log);
    for (std::size_t i = 0; i < all_cores(); ++i) {
      cores_[i]->poller.open();
      start_thread(*cores_[i]);
    }
    if (!stage_) crew_.start_watch(config_.hand_over_after.nanoseconds());
  } catch (...) {
    stop(Left::kIdle);
    throw;
  }
  trace.open();
  gate.open();
}

bool Domain::left_behind() const noexcept { return running() && process_ != machine::process_id(); }

bool Domain::was_forked() const noexcept {
  return running() && forks_ != forks.load(std::memory_order_relaxed);
}

// Returns when the new thread runs its loop; a stage's is lent later.
void Domain::start_thread(Core& core) {
  core.prepare_to_run();
  if (stage_) {
    crew_.prepare_for_lent_threads();
    core.reserve(*stage_);
  } else {
    crew_.run(core);
  }
}

int Domain::cpu_for(const Core& core) const noexcept {
  if (core.solo || !config_.bind_cores || core_count_ > cpus_.size()) return -1;
  return cpus_[core.place];
}

void Domain::stop(Left left) {
  gate.close();
  left_ = left;
  phase_.store(Phase::kEnding, std::memory_order_seq_cst);
  watchers_.fetch_add(1, std::memory_order_seq_cst);
  if (left == Left::kBusy) report_who_runs();
  if (stage_) {
    end_stage();
  } else {
    sync::UniqueGuard guard(lock_);
    wake_all();
    RealSync::fence(std::memory_order_seq_cst);
    const auto ended = [this] { return crew_.empty() || all_ended(); };
    for (std::size_t i = 0; i < all_cores(); ++i) {
      cores_[i]->ended_before = cores_[i]->counts.ended.read();
    }
    while (!changed_.wait_for(guard, std::chrono::seconds(5), ended)) report_who_holds_up();
  }
  watchers_.fetch_sub(1, std::memory_order_relaxed);
  crew_.stop_watch();
  phase_.store(Phase::kLeaving, std::memory_order_seq_cst);
  {
    sync::Guard guard(lock_);
    wake_all();
  }
  crew_.end();
  trace.close();
  reporter.stop();
  gate.close();  // who still visits, for the last wake-up of an actor that has ended by it, leaves
  sweep();
  phase_.store(Phase::kStopped, std::memory_order_release);
  one_less_runs();
}

// With lock_ held, which a core that has just been added takes before its loop: it is woken, or
// finds what has changed.
void Domain::wake_all() noexcept {
  bell_.fetch_add(1, std::memory_order_seq_cst);
  for (std::size_t i = 0; i < all_cores(); ++i) cores_[i]->poller.wake();
}

// After the threads have left: what is still in inboxes is dropped, and memory goes home.
void Domain::sweep() noexcept {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < all_cores(); ++i) again |= cores_[i]->sweep_arrivals();
  }
  BULKHEAD_CHECK(
      commons_ == nullptr || (!commons_->has_work() && commons_->next_due() == machine::kNever),
      "nothing roams after the last actor's end");
  for (std::size_t i = 0; i < all_cores(); ++i) {
    cores_[i]->sweep_memory();
    cores_[i]->poller.close();
  }
  give_all_slots();
  vacant_solos_.clear();
  for (std::size_t i = core_count_; i < all_cores(); ++i) {
    if (cores_[i]->solo) vacant_solos_.push_back(cores_[i]);
  }
}

bool Domain::may_leave(const Core& core) const noexcept {
  return phase_.load(std::memory_order_acquire) == Phase::kLeaving && core.arrivals.empty();
}

// --- actors with a thread of their own -----------------------------------------------------------

Core& Domain::take_solo() {
  const base::Critical critical("who takes a thread must not block");
  Core* core = nullptr;
  bool fresh = false;
  {
    // Also for the poller, which wake_all uses.
    sync::Guard guard(lock_);
    if (vacant_solos_.empty()) {
      vacant_solos_.reserve(all_cores() + 1);
      core = &add_core();
      core->solo = true;
    } else {
      core = vacant_solos_.back();
      vacant_solos_.pop_back();
    }
    fresh = !core->poller.is_open();
    if (fresh) open_poller(*core);
  }
  if (!fresh) return *core;
  try {
    start_thread(*core);
  } catch (...) {
    sync::Guard guard(lock_);
    core->poller.close();
    vacant_solos_.push_back(core);
    throw;
  }
  return *core;
}

// With lock_ held.
void Domain::open_poller(Core& core) {
  try {
    core.poller.open();
  } catch (...) {
    vacant_solos_.push_back(&core);
    throw;
  }
}

void Domain::solo_is_vacant(Core& core) noexcept {
  sync::Guard guard(lock_);
  vacant_solos_.push_back(&core);
}

// --- quiescence ----------------------------------------------------------------------------------

bool Domain::quiescent(Countdowns countdowns) const noexcept {
  std::uint64_t settled = 0;
  for (std::size_t i = 0; i < all_cores(); ++i) {
    const Counts& counts = cores_[i]->counts;
    settled += counts.handled.read() + counts.dropped_sent.read();
    if (countdowns == Countdowns::kWaitFor) settled += counts.timeouts_ended.read();
  }
  std::uint64_t sent = outside.sent.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < all_cores(); ++i) {
    const Counts& counts = cores_[i]->counts;
    sent += counts.sent.read();
    if (countdowns == Countdowns::kWaitFor) sent += counts.timeouts_armed.read();
  }
  return settled == sent;
}

bool Domain::all_ended() const noexcept {
  std::uint64_t ended = 0;
  for (std::size_t i = 0; i < all_cores(); ++i) ended += cores_[i]->counts.ended.read();
  std::uint64_t started = outside.started.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < all_cores(); ++i) started += cores_[i]->counts.started.read();
  return ended == started;
}

// Waits until seen() is true, which the cores tell when it may be.
template <class Seen>
bool Domain::watch(machine::Nanoseconds timeout, Seen seen) {
  watchers_.fetch_add(1, std::memory_order_relaxed);
  RealSync::fence(std::memory_order_seq_cst);
  sync::UniqueGuard guard(lock_);
  bool done = true;
  if (timeout == machine::kNever) {
    changed_.wait(guard, seen);
  } else {
    done = changed_.wait_for(guard, std::chrono::nanoseconds(timeout), seen);
  }
  watchers_.fetch_sub(1, std::memory_order_relaxed);
  return done;
}

bool Domain::wait_for_idle(Countdowns countdowns, machine::Nanoseconds timeout) {
  return watch(timeout, [&] { return quiescent(countdowns); });
}

bool Domain::wait_for_end(machine::Nanoseconds timeout) {
  return watch(timeout, [this] { return all_ended(); });
}

void Domain::core_sleeps(const Core& core) noexcept {
  crew_.core_sleeps(core);
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  tell_watchers();
}

void Domain::tell_watchers() noexcept {
  RealSync::fence(std::memory_order_seq_cst);
  if (watchers_.load(std::memory_order_relaxed) == 0) return;
  if (!quiescent(Countdowns::kIgnore) && !all_ended()) return;  // not what any of them waits for
  sync::Guard guard(lock_);
  changed_.notify_all();
}

void Domain::refused_outside(Pid receiver, std::string_view message, DropCause cause) noexcept {
  if (cause == DropCause::kStopped) report_stopped_send(message);
  outside.dropped[static_cast<std::size_t>(cause)].fetch_add(1, std::memory_order_relaxed);
  if (!hooks_.enter()) return;
  dead_letter(receiver, message, cause);
  hooks_.leave();
}

void count_stray() noexcept { strays.fetch_add(1, std::memory_order_relaxed); }

Stats Domain::stats() const {
  Stats stats;
  stats.strays = strays.load(std::memory_order_relaxed);
  stats.cores = core_count_;
  if (!left_behind()) crew_.count(stats);  // in a fork nobody may let go of its lock
  const auto order = std::memory_order_relaxed;
  stats.sent = outside.sent.load(order);
  stats.actors_started = outside.started.load(order);
  for (std::size_t i = 0; i < kDropCauses; ++i) {
    stats.dropped[i] = outside.dropped[i].load(order);
    stats.refused += stats.dropped[i];
  }
  stats.stopped_sends = stats.dropped[static_cast<std::size_t>(DropCause::kStopped)];
  for (std::size_t i = 0; i < all_cores(); ++i) {
    const Core& core = *cores_[i];
    stats.actors_started += core.counts.started.read();
    stats.actors_ended += core.counts.ended.read();
    stats.actors_failed += core.counts.failed.read();
    stats.actors_trapped += core.counts.trapped.read();
    stats.actors_restarted += core.counts.restarted.read();
    stats.downs_lost += core.counts.downs_lost.read();
    stats.sent += core.counts.sent.read();
    stats.handled += core.counts.handled.read();
    stats.refused += core.counts.refused.read();
    stats.moved += core.counts.moved.read();
    stats.slept += core.counts.slept.read();
    stats.pool_bytes += core.pool_chunks.load(order) * memory::kChunkBytes;
    for (std::size_t k = 0; k < kDropCauses; ++k) stats.dropped[k] += core.counts.dropped[k].read();
  }
  return stats;
}

}  // namespace bulkhead::core
