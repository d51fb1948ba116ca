#include "bulkhead/blocking.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/critical.hpp"
#include "bulkhead/config.hpp"
#include "core/belongings.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "machine/cpus.hpp"
#include "machine/process_wide.hpp"
#include "wait/blocking_pool.hpp"

namespace bulkhead {

namespace wait {

namespace {

constexpr std::size_t kMostThreads = 4096;
constexpr std::chrono::seconds kPatience{2};

void report_left(std::size_t calls) noexcept {
  const bool one = calls == 1;
  std::fprintf(stderr,
               "bulkhead: shutdown: %zu %s of blocking() %s not returned; %s left behind, until %s "
               "or the process ends. Give what may take long a time limit of its own, or have it "
               "return before the shutdown\n",
               calls, one ? "call" : "calls", one ? "has" : "have", one ? "it is" : "they are",
               one ? "it returns" : "they return");
}

void none_runs() noexcept { BlockingPool::process().retire(kPatience); }

struct AtExit {
  ~AtExit() { BlockingPool::process().retire(kPatience); }
};

}  // namespace

BlockingPool& BlockingPool::process() {  // B4
  return machine::process_wide<BlockingPool>();
}

BlockingPool::BlockingPool(const BlockingPool* parents) {
  if (parents != nullptr) {
    limits_ = parents->limits_;
  } else {
    core::when_none_runs(&none_runs);
  }
}

void BlockingPool::submit(core::BlockingJob& job) {
  static const AtExit at_exit;
  Threads past;
  {
    const sync::Guard guard(lock_);
    past.swap(past_);
    if (idle_ <= queued_ && threads_.size() < limits_.threads) start_thread();
    job.next = nullptr;
    job.queued = true;
    job.owners = 2;
    (last_ != nullptr ? last_->next : first_) = &job;
    last_ = &job;
    ++queued_;
    work_.notify_one();
  }
  for (sync::Thread& thread : past) thread.join();  // they hold nothing up: they have left
}

// Under the lock, which its thread then waits for.
void BlockingPool::start_thread() {
  threads_.emplace_front();
  try {
    const auto place = threads_.begin();
    *place = sync::Thread([this, place, round = round_] { work(place, round); });
    ++fresh_;
  } catch (const std::system_error& error) {
    threads_.pop_front();
    if (!threads_.empty()) return;  // the others will come to it
    throw std::runtime_error("bulkhead: blocking: no thread could be started: " +
                             std::string(error.what()));
  }
}

void BlockingPool::work(Threads::iterator mine, unsigned round) noexcept {
  machine::name_thread("bulkhead-block");
  sync::UniqueGuard guard(lock_);
  while (wait_for_work(guard, round)) {
    if (round != round_) {  // it serves those who have come since
      leave(round);
      round = round_;
      ++fresh_;
      ended_.notify_all();
    }
    run_first(guard);
  }
  past_.splice(past_.end(), threads_, mine);
  leave(round);
  ended_.notify_all();
}

// A thread of that round is no longer one of those that are waited for, or left behind.
void BlockingPool::leave(unsigned round) noexcept {
  if (round == round_) {
    --fresh_;
  } else if (round < given_up_before_) {
    --given_up_;
  }
}

// False when the thread is to end.
bool BlockingPool::wait_for_work(sync::UniqueGuard& guard, unsigned round) {
  if (threads_.size() > limits_.threads) return false;
  if (first_ != nullptr) return true;
  if (round != round_) return false;
  ++idle_;
  const auto woken = [&] { return first_ != nullptr || round != round_; };
  if (limits_.idle_time.is_forever()) {
    work_.wait(guard, woken);
  } else {
    static_cast<void>(
        work_.wait_for(guard, std::chrono::nanoseconds(limits_.idle_time.nanoseconds()), woken));
  }
  --idle_;
  return first_ != nullptr;
}

void BlockingPool::run_first(sync::UniqueGuard& guard) noexcept {
  core::BlockingJob& job = *first_;
  remove(job);
  guard.unlock();
  try {
    job.run();
  } catch (...) {
    job.failure = std::current_exception();
  }
  job.finished.done();
  let_go(job);
  guard.lock();
}

void BlockingPool::remove(core::BlockingJob& job) noexcept {
  core::BlockingJob** link = &first_;
  core::BlockingJob* before = nullptr;
  while (*link != &job) {
    before = *link;
    link = &before->next;
  }
  *link = job.next;
  if (last_ == &job) last_ = before;
  job.queued = false;
  --queued_;
}

void BlockingPool::let_go(core::BlockingJob& job) noexcept {
  bool last = false;
  {
    const sync::Guard guard(lock_);
    if (job.queued) {
      remove(job);  // B2
      --job.owners;
    }
    last = --job.owners == 0;
  }
  if (last) delete &job;
}

void BlockingPool::set_limits(const BlockingLimits& limits) {
  if (limits.threads == 0 || limits.threads > kMostThreads) {
    throw ConfigError("bulkhead: BlockingLimits::threads is " + std::to_string(limits.threads) +
                      "; it must be 1 to " + std::to_string(kMostThreads));
  }
  const sync::Guard guard(lock_);
  limits_ = limits;
}

BlockingLimits BlockingPool::limits() const {
  const sync::Guard guard(lock_);
  return limits_;
}

void BlockingPool::retire(std::chrono::milliseconds patience) noexcept {
  Threads past;
  {
    sync::UniqueGuard guard(lock_);
    ++round_;
    fresh_ = 0;
    work_.notify_all();
    const auto still_at_it = [this] { return threads_.size() - fresh_ - given_up_; };
    if (!ended_.wait_for(guard, patience, [&] { return still_at_it() == 0; })) {
      report_left(still_at_it());
      given_up_ = threads_.size() - fresh_;
      given_up_before_ = round_;
    }
    past.swap(past_);
  }
  for (sync::Thread& thread : past) thread.join();
}

}  // namespace wait

void set_blocking_limits(const BlockingLimits& limits) {
  wait::BlockingPool::process().set_limits(limits);
}

BlockingLimits blocking_limits() { return wait::BlockingPool::process().limits(); }

namespace core {

bool waits_when_blocking() {
  const BrieflyInside inside;
  if (inside.core() == nullptr || !inside.core()->may_wait()) return false;
  if (base::critical != nullptr) refuse_to_block();
  return true;
}

// The pool's memory is the process's, also where an isolated actor is the first who needs it.
void run_blocking(BlockingJob& job) {
  {
    const BrieflyInside inside;
    wait::BlockingPool::process().submit(job);
  }
  job.finished.wait();
}

void let_go(BlockingJob& job) noexcept { wait::BlockingPool::process().let_go(job); }

namespace {

constexpr Belonging::Ops kShareOps = {
    [](const Belonging& /*each*/) noexcept { return false; },
    [](const Belonging& each) noexcept { let_go(*reinterpret_cast<BlockingJob*>(each.what[0])); }};

std::uint64_t name_of(const BlockingJob& job) noexcept {
  return reinterpret_cast<std::uint64_t>(&job);
}

}  // namespace

BlockingShare::BlockingShare(BlockingJob& job) : job_(job) {
  try {
    belongs_to_caller({&kShareOps, {name_of(job), 0, 0}});
  } catch (const std::bad_alloc&) {
    let_go(job);
    throw;
  }
}

BlockingShare::~BlockingShare() {
  forget_of_caller(kShareOps, name_of(job_));
  let_go(job_);
}

void refuse_to_block_over_wall(std::string_view function) {
  throw std::logic_error(
      "bulkhead: blocking: an isolated actor calls it with " + std::string(function) +
      ", which cannot cross to another thread's memory: give it a function that is no more than "
      "its bytes, or a struct with an operator() whose members cross; see check_crossable");
}

}  // namespace core

}  // namespace bulkhead
