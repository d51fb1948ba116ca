#include "core/crew.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "core/domain.hpp"
#include "core/trap.hpp"
#include "machine/cpus.hpp"
#include "machine/fault.hpp"

namespace bulkhead::core {

namespace {

constexpr std::size_t kSparesKept = 4;
// Past it a stuck handler holds up its core.
constexpr std::size_t kMostAway = 1000;
constexpr machine::Nanoseconds kLooksPerSpan = 4;
// The first look after a sleep.
constexpr machine::Nanoseconds kLatestFirstLook = 5 * machine::kMillisecond;
constexpr int kTries = 32;
constexpr machine::Nanoseconds kLongestPause = 100'000'000;
// A handler for which nobody waits is left all the same after so many spans: then its core sleeps,
// and with it the watch.
constexpr machine::Nanoseconds kSpansAnyway = 20;
constexpr machine::Nanoseconds kShortagesToldEvery = 1'000'000'000;

}  // namespace

// --- the domain's side ---------------------------------------------------------------------------

void Crew::run(Core& core) {
  sync::UniqueGuard guard(lock_);
  if (workers_.empty()) {
    ending_ = false;
    handed_over_ = 0;
    held_up_ = 0;
    shortage_ = Shortage{};
  }
  Worker& worker = take_worker();
  core.worker = &worker;
  worker.core = &core;
  worker.arrived = false;
  core_wakes(core);
  changed_.notify_all();
  changed_.wait(guard, [&] { return worker.arrived; });
}

void Crew::prepare_for_lent_threads() {
  if (lent_ == nullptr) lent_ = std::make_unique<Worker>(*this);
}

void Crew::lend_thread(Core& core, Drive& drive) noexcept {
  if (domain_.config().report_faults) machine::give_thread_fault_stack();
  Worker& me = *lent_;
  me.seat = &tl_seat;
  me.core = &core;
  core.worker = &me;
  tl_seat.worker = &me;
  core.run(me, &drive);
  tl_seat.worker = nullptr;
}

void Crew::start_watch(machine::Nanoseconds after) {
  if (after == machine::kNever) return;
  if (!sync::heavy_fence_works()) {
    static const bool said = [] {
      std::fprintf(stderr,
                   "bulkhead: this kernel has no expedited membarrier, so Config::hand_over_after "
                   "has no effect: a handler that is stuck holds up its core\n");
      return true;
    }();
    static_cast<void>(said);
    return;
  }
  after_ = after;
  bed_.make(std::min(first_look(), kLatestFirstLook));
  watch_ends_ = false;
  seen_.assign(domain_.core_count(), Seen{});
  watch_ = sync::Thread([this] { keep_watch(); });
}

machine::Nanoseconds Crew::first_look() const noexcept {
  return std::max<machine::Nanoseconds>(after_ / kLooksPerSpan, 1);
}

void Crew::stop_watch() noexcept {
  if (!watch_.joinable()) return;
  vigil_.wakes(bed_);  // so that it does not go to sleep any more
  bed_.wake_now();
  {
    sync::Guard guard(lock_);
    watch_ends_ = true;
    changed_.notify_all();
  }
  watch_.join();
  vigil_.sleeps();
}

// The last one to end has joined all the others.
void Crew::end() noexcept {
  sync::UniqueGuard guard(lock_);
  if (workers_.empty()) return;
  ending_ = true;
  changed_.notify_all();
  changed_.wait(guard, [this] { return workers_.size() == 1 && last_ended_ != nullptr; });
  guard.unlock();
  last_ended_->thread.join();
  guard.lock();
  workers_.clear();
  last_ended_ = nullptr;
  spares_ = nullptr;
  spare_count_ = 0;
  bed_.remove();
}

bool Crew::empty() noexcept {
  sync::Guard guard(lock_);
  return workers_.empty();
}

void Crew::count(Stats& stats) const {
  sync::Guard guard(lock_);
  stats.handed_over = handed_over_;
  stats.away = away_count_;
  stats.spare_threads = spare_count_;
  stats.held_up = held_up_;
}

void Crew::report_away() const {
  sync::Guard guard(lock_);
  for (const auto& worker : workers_) {
    if (worker->away == nullptr) continue;
    domain_.tell_of_stop("shutdown waits for actor " + to_string(worker->away_pid) + " (" +
                         std::string(worker->away_kind->name) +
                         "): its handler neither returns nor calls the runtime (it loops, or is "
                         "in a system call)");
  }
}

// --- the workers ---------------------------------------------------------------------------------

Worker::Worker(Crew& its_crew) : crew(its_crew), trap(std::make_unique<Trap>()) {}
Worker::~Worker() = default;

// With the lock held, which the new thread takes first.
Worker& Crew::take_worker() {
  if (Worker* spare = spares_; spare != nullptr) {
    spares_ = spare->next_spare;
    --spare_count_;
    return *spare;
  }
  workers_.reserve(workers_.size() + 1);
  auto worker = std::make_unique<Worker>(*this);
  Worker& made = *worker;
  made.thread = sync::Thread([this, &made] { main(made); });
  workers_.push_back(std::move(worker));
  return made;
}

void Crew::keep_spare(Worker& worker) noexcept {
  worker.next_spare = spares_;
  spares_ = &worker;
  ++spare_count_;
}

void Crew::main(Worker& me) {
  tl_seat.worker = &me;
  std::optional<machine::FaultStack> fault_stack;
  if (domain_.config().report_faults) fault_stack.emplace();
  while (Core* core = next_core(me)) {
    dress(me, *core);
    core->run(me);
    if (me.homecoming == nullptr) {  // the loop has ended
      core_sleeps(*core);
      break;
    }
    come_home(me);
    machine::name_thread("bulkhead-spare");
    if (!is_kept(me)) break;
  }
  end_worker(me);
}

// Who ends joins the one that has ended before: the thread-local objects that handlers have left in
// a thread may take their time to end, and hold up nobody but those that end anyway.
void Crew::end_worker(Worker& me) noexcept {
  tl_seat.worker = nullptr;
  Worker* before = nullptr;
  {
    sync::Guard guard(lock_);
    me.core = nullptr;
    before = std::exchange(last_ended_, &me);
    changed_.notify_all();
  }
  if (before == nullptr) return;
  before->thread.join();
  sync::Guard guard(lock_);
  std::erase_if(workers_, [before](const auto& worker) { return worker.get() == before; });
  changed_.notify_all();
}

// Null when there will be none.
Core* Crew::next_core(Worker& me) {
  sync::UniqueGuard guard(lock_);
  me.seat = &tl_seat;
  changed_.wait(guard, [&] { return me.core != nullptr || ending_; });
  return me.core;
}

bool Crew::is_kept(Worker& me) noexcept {
  sync::Guard guard(lock_);
  if (ending_ || spare_count_ == kSparesKept) return false;
  keep_spare(me);
  return true;
}

void Crew::dress(Worker& me, Core& core) {
  char name[16];
  std::snprintf(name, sizeof name, core.solo ? "bulkhead-own" : "bulkhead-%zu",
                std::size_t{core.place});
  machine::name_thread(name);
  int cpu = domain_.cpu_for(core);
  if (cpu >= 0 && !machine::bind_to_cpu(cpu)) cpu = -1;
  sync::Guard guard(lock_);
  if (cpu < 0 && me.bound) machine::unbind(me.thread, domain_.cpus());
  me.bound = cpu >= 0;
  me.arrived = true;
  changed_.notify_all();
}

// On the thread's own stack: the actor's is free to be resumed elsewhere.
void Crew::come_home(Worker& me) {
  Slot* slot = nullptr;
  {
    sync::Guard guard(lock_);
    slot = me.away;
    me.away = nullptr;
    --away_count_;
  }
  // Once it is pushed, the core may resume the frame that it lies in.
  push_home(*slot, *std::exchange(me.homecoming, nullptr));
}

Core* Crew::look_again(const Worker& me) const noexcept {
  sync::Guard guard(lock_);
  return me.seat->at.look_again();
}

// --- the watch -----------------------------------------------------------------------------------

void Crew::keep_watch() {
  machine::name_thread("bulkhead-watch");
  const machine::Nanoseconds shortest = first_look();
  machine::Nanoseconds pause = shortest;
  sync::UniqueGuard guard(lock_);
  while (!watch_ends_) {
    const Shortage shortage = shortage_;
    shortage_.kind = nullptr;
    guard.unlock();
    report(shortage);
    const bool has_slept = vigil_.sleep_if_all_do(bed_);  // and a pause longer than the others did
    guard.lock();
    const auto ends = [this] { return watch_ends_; };
    if (has_slept ? ends() : changed_.wait_for(guard, std::chrono::nanoseconds(pause), ends)) break;
    bool hopeful = false;
    bool awake = false;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const Look look = look_at(domain_.core(i), seen_[i]);
      hopeful |= look == Look::kAwake;
      awake |= look != Look::kAsleep;
    }
    // Those that are stuck and cannot be left behind are looked at less and less.
    pause = hopeful || !awake ? shortest : std::min(2 * pause, std::max(kLongestPause, shortest));
  }
}

Crew::Look Crew::look_at(Core& core, Seen& seen) noexcept {
  const std::uint64_t progress = core.progress();
  const machine::Nanoseconds now = machine::now();
  const bool asleep = core.arrivals.asleep();
  if (asleep || progress != seen.progress) {
    seen = {progress, now, 0, false};
    return asleep ? Look::kAsleep : Look::kAwake;
  }
  // A look that came late, on a machine that is busy with others, proves nothing by itself.
  ++seen.looks;
  const machine::Nanoseconds stuck = now - seen.since;
  if (stuck < after_ || seen.looks < 2) return Look::kAwake;
  return hand_over(core, seen, stuck / kSpansAnyway >= after_ ? Anyway::kYes : Anyway::kNo);
}

Crew::Look Crew::hand_over(Core& core, Seen& seen, Anyway anyway) noexcept {
  Worker& old = *core.worker;
  if (old.core != &core || old.seat == nullptr) return Look::kAwake;
  // Who calls the runtime all the time is outside now and then.
  sync::Taken taken = old.seat->at.take();
  for (int i = 1; i < kTries && taken == sync::Taken::kInside; ++i) taken = old.seat->at.take();
  if (taken == sync::Taken::kInside) return Look::kHopeless;
  if (taken != sync::Taken::kTaken) return Look::kAwake;
  if (core.progress() != seen.progress) {  // another one has begun since the look
    old.seat->at.put_back(&core);
    return Look::kAwake;
  }
  const Slot* slot = core.running;
  BULKHEAD_CHECK(slot != nullptr, "outside the runtime only an actor's handler runs");
  const bool may = !slot->has(Slot::kSolo);
  const bool wanted = may && (anyway == Anyway::kYes || core.is_waited_for());
  Worker* fresh = wanted ? part(core, old, seen) : nullptr;
  if (fresh == nullptr) {
    old.seat->at.put_back(&core);
    return may && !wanted ? Look::kAwake : Look::kHopeless;
  }
  old.core = nullptr;
  if (old.bound) old.bound = !machine::unbind(old.thread, domain_.cpus());
  machine::name_thread(old.thread, "bulkhead-away");
  core.worker = fresh;
  fresh->core = &core;
  ++away_count_;
  ++handed_over_;
  shortage_.told = false;
  changed_.notify_all();
  return Look::kAwake;
}

// The worker in which the core goes on without its running actor; null when there can be none.
Worker* Crew::part(Core& core, Worker& old, Seen& seen) noexcept {
  if (away_count_ >= kMostAway) {
    note_shortage(core, seen, "1000 handlers are stuck by now, the most that can be left", "");
    return nullptr;
  }
  Worker* fresh = nullptr;
  try {
    fresh = &take_worker();
    core.part_from(old);
    return fresh;
  } catch (const std::exception& error) {  // no thread, or no stack
    note_shortage(core, seen, fresh == nullptr ? "no thread can be had: " : "no stack can be had: ",
                  error.what());
    if (fresh != nullptr) keep_spare(*fresh);
    return nullptr;
  }
}

// While the core is the watch's. Counted once for each stuck handler. Told once until a core can go
// on, and not more than once a second.
void Crew::note_shortage(const Core& core, Seen& seen, const char* what, const char* why) noexcept {
  if (std::exchange(seen.held_up, true)) return;
  ++held_up_;
  const machine::Nanoseconds now = machine::now();
  if (shortage_.told || now < shortage_.quiet_until) return;
  shortage_.told = true;
  shortage_.quiet_until = now + kShortagesToldEvery;
  shortage_.actor = pid_of(*core.running);
  shortage_.kind = core.running->kind;
  shortage_.core = core.place;
  std::snprintf(shortage_.why.data(), shortage_.why.size(), "%s%s", what, why);
}

// Not under the lock, which those who come home take: whoever reads stderr may be slow.
void Crew::report(const Shortage& shortage) noexcept {
  if (shortage.kind == nullptr) return;
  std::fprintf(stderr,
               "bulkhead: core %zu is held up by actor %s (%.*s), which is stuck in a handler (it "
               "loops, or is in a system call), and cannot go on without it: %s. Said again only "
               "when it has been better meanwhile; stats().held_up counts them.\n",
               shortage.core, to_string(shortage.actor).c_str(),
               static_cast<int>(shortage.kind->name.size()), shortage.kind->name.data(),
               shortage.why.data());
}

}  // namespace bulkhead::core
