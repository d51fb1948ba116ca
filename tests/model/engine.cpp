#include "engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace bulkhead::model {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::uint32_t kMostSteps = 60'000;  // what stamps of messages can tell apart

Engine* active_engine = nullptr;
std::uint64_t runs = 0;  // of all explorations: no object of another run is taken for ours

}  // namespace

/// What is left of an execution that failed: threads stopped in the middle, and what they refer to.
/// It is kept, for nothing of it can be destroyed safely.
struct Engine::Wreck {
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Run::Body> bodies;
  std::vector<Block> blocks;
};

std::vector<Engine::Wreck>& Engine::wrecks() {
  static auto* all = new std::vector<Wreck>();  // reachable for ever, destroyed never
  return *all;
}

std::vector<std::unique_ptr<Fiber>>& Engine::idle_fibers() {
  static std::vector<std::unique_ptr<Fiber>> all;
  return all;
}

Engine* Engine::active() noexcept { return active_engine; }

Engine::Engine(const Options& options, std::function<void(Run&)> setup)
    : options_(options),
      setup_(std::move(setup)),
      memory_(options.weak ? MemoryMode::kWeak : MemoryMode::kSequential) {
  options_.max_steps = std::min(options_.max_steps, kMostSteps);
  for (Thread& thread : threads_) thread.engine = this;
}

Engine::~Engine() {
  for (Thread& thread : threads_) {
    if (thread.fiber) idle_fibers().push_back(std::move(thread.fiber));
  }
}

// --- explorations ---

std::string Engine::mode_word() const {
  std::string word(options_.name);
  if (!word.empty()) word += '/';
  word += options_.weak ? "weak" : "sequential";
  if (options_.preemption_bound != kUnbounded) word += std::to_string(options_.preemption_bound);
  if (options_.stale_bound != kUnbounded) word += "," + std::to_string(options_.stale_bound);
  return word;
}

std::string Engine::mode_text() const {
  const auto limit = [](unsigned bound) {
    return bound == kUnbounded ? std::string("any number of") : "at most " + std::to_string(bound);
  };
  std::string text = options_.weak ? "weak memory" : "sequentially consistent memory";
  if (options_.weak && options_.stale_bound != kUnbounded) {
    text += " (" + limit(options_.stale_bound) + " stale)";
  }
  return text + ", " + limit(options_.preemption_bound) + " preemptions";
}

bool Engine::prepare_replay(Result& result) {
  const char* wanted = std::getenv("BULKHEAD_MODEL_REPLAY");
  if (wanted == nullptr) return false;
  const std::string_view word(wanted);
  const std::size_t colon = word.find(':');
  if (word.substr(0, colon) != mode_word()) {
    result.failure = "not exhausted: BULKHEAD_MODEL_REPLAY is for " +
                     std::string(word.substr(0, colon)) + ", this is " + mode_word();
  } else if (colon == std::string_view::npos || !search_.load(word.substr(colon + 1))) {
    result.failure = "replay: BULKHEAD_MODEL_REPLAY is no such word";
  } else {
    run_once();
    executions_ = 1;
    if (!failure_ && !search_.fits()) failure_ = {"replay", "the word does not fit this program"};
    if (failure_)
      explain(result);
    else
      result.failure = "not exhausted: replayed one execution, which did not fail";
  }
  return true;
}

Result Engine::explore() {
  if (active_engine != nullptr) {
    std::fputs("bulkhead model: an exploration within another\n", stderr);
    std::abort();
  }
  active_engine = this;
  const auto begin = std::chrono::steady_clock::now();
  Result result;
  if (!prepare_replay(result)) {
    while (executions_ < options_.max_executions) {
      run_once();
      ++executions_;
      if (failure_) break;
      if (redundant_) ++redundant_executions_;
      result.exhausted = !search_.next();
      if (!search_.fits()) {
        result.failure = "not deterministic: the same choices led elsewhere than before";
        result.exhausted = false;
      }
      if (result.exhausted || !result.failure.empty()) break;
    }
    if (failure_) {
      explain(result);
    } else if (!result.exhausted && result.failure.empty()) {
      result.failure = "not exhausted: stopped after max_executions";
    }
  }
  phase_ = Phase::kOff;
  active_engine = nullptr;
  result.mode = mode_text();
  result.executions = executions_;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  result.seconds = taken.count();
  if (std::getenv("BULKHEAD_MODEL_VERBOSE") != nullptr) {
    std::fprintf(stderr, "%s%s%s, %llu redundant\n", std::string(options_.name).c_str(),
                 options_.name.empty() ? "" : ": ", result.summary().c_str(),
                 static_cast<unsigned long long>(redundant_executions_));
  }
  return result;
}

// Runs the execution that failed again, and writes down what happens.
void Engine::explain(Result& result) {
  const Failure first = *failure_;
  result.replay = mode_word() + ':' + search_.text();
  failure_.reset();
  trace_.reset(Trace::Recording::kOn);
  run_once();
  if (failure_ && failure_->kind == first.kind) {
    result.failure = failure_->kind + ": " + failure_->text;
  } else {
    result.failure = first.kind + ": " + first.text + "\n  (when it was run again it " +
                     (failure_ ? "failed otherwise: " + failure_->text : "did not fail") +
                     ": the model is not deterministic)";
  }
  result.trace = trace_.text();
}

// --- executions ---

Engine::Thread& Engine::thread(unsigned index) {
  Thread& thread = threads_[index];
  if (!thread.fiber) {
    std::vector<std::unique_ptr<Fiber>>& idle = idle_fibers();
    if (idle.empty()) {
      thread.fiber = std::make_unique<Fiber>(kStackBytes);
    } else {
      thread.fiber = std::move(idle.back());
      idle.pop_back();
    }
    thread.fiber->assign(&Engine::fiber_task, &thread);
  }
  thread.state = State::kDone;
  thread.gated = false;
  thread.hints = thread.idle_turns = 0;
  thread.reads.clear();
  thread.gate.clear();
  return thread;
}

void Engine::add_thread(std::string_view name, Run::Body body) {
  if (phase_ != Phase::kSetup || thread_count_ == kMaxThreads) {
    return fail("model", "a run has at most 7 threads, all of them made by its setup");
  }
  Thread& added = thread(thread_count_++);
  added.name = name;
  added.body = std::move(body);
}

void Engine::reset() {
  memory_.reset();
  search_.rewind();
  run_ = ++runs;
  thread_count_ = 1;
  preemptions_ = 0;
  spurious_left_ = options_.spurious;
  stale_left_ = options_.stale_bound;
  time_outs_left_ = options_.time_outs;
  step_ = 1;
  redundant_ = preempts_ = opened_ = false;
  asleep_ = 0;
  since_ = 0;
  ahead_of_ = nullptr;
  thread(0).name = "main";
}

void Engine::run_once() {
  reset();
  threads_[0].body = [this] {
    Run run(*this);
    setup_(run);
  };
  run_phase(Phase::kSetup);
  if (!failure_) {
    const LeaksAllowed here;
    start_threads();
    if (!failure_) run_threads();
  }
  if (!failure_) {
    for (unsigned t = 1; t < thread_count_; ++t) memory_.inherit(0, t);
    threads_[0].body = [this] {
      for (Run::Body& body : finally_) body();
    };
    run_phase(Phase::kFinally);
  }
  end_run();
}

// Setup and end run on a fiber too, so that they can be left in the middle.
void Engine::run_phase(Phase phase) {
  phase_ = phase;
  current_ = 0;
  threads_[0].state = State::kReady;
  Fiber::change(host_, *threads_[0].fiber);
}

void Engine::start_threads() {
  phase_ = Phase::kStart;
  for (unsigned t = 1; t < thread_count_ && !failure_; ++t) {
    memory_.inherit(t, 0);
    threads_[t].state = State::kReady;
    ahead_of_ = &host_;
    current_ = t;
    Fiber::change(host_, *threads_[t].fiber);
  }
  memory_.advance(0);
}

void Engine::run_threads() {
  phase_ = Phase::kRun;
  current_ = kNobody;
  const unsigned first = pick();
  if (failure_ || first == kNobody) return;
  current_ = first;
  Fiber::change(host_, *threads_[first].fiber);
}

void Engine::end_run() {
  const bool stopped = failure_.has_value();
  phase_ = Phase::kEnd;
  current_ = 0;
  if (stopped) return abandon();
  for (Thread& thread : threads_) thread.body = nullptr;
  finally_.clear();
  for (const Block& block : blocks_) {
    if (!block.given && !failure_) fail("leak", block.name + " was made and never freed");
  }
  for (const Block& block : blocks_) {
    ::operator delete(block.memory, std::align_val_t(block.alignment));
  }
  blocks_.clear();
}

void Engine::abandon() {
  Wreck& wreck = wrecks().emplace_back();
  for (unsigned t = 0; t < thread_count_; ++t) {
    Thread& thread = threads_[t];
    wreck.bodies.push_back(std::move(thread.body));
    thread.body = nullptr;
    if (thread.state == State::kDone) continue;
    thread.fiber->keep_for_good();
    wreck.fibers.push_back(std::move(thread.fiber));
  }
  for (Run::Body& body : finally_) wreck.bodies.push_back(std::move(body));
  finally_.clear();
  wreck.blocks = std::move(blocks_);
  blocks_.clear();
}

void Engine::fiber_task(void* self) {
  Thread& thread = *static_cast<Thread*>(self);
  thread.engine->run_body(thread);
}

void Engine::run_body(Thread& self) {
  std::string thrown;
  try {
    self.body();
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  if (!thrown.empty()) fail("exception", std::string(self.name) + " threw: " + thrown);
  self.state = State::kDone;
  if (&self == &threads_[0]) {
    Fiber::change(*self.fiber, host_);
  } else if (ahead_of_ != nullptr) {
    Fiber::change(*self.fiber, *std::exchange(ahead_of_, nullptr));
  } else {
    hand_over(pick());
  }
}

void Engine::fail(std::string_view kind, std::string_view text) {
  if (!failure_) failure_ = {std::string(kind), std::string(text)};
  if (phase_ == Phase::kEnd || current_ == kNobody) return;
  if (trace_.on()) record(std::string("FAILS: ") + failure_->kind + ": " + failure_->text);
  threads_[current_].state = State::kReady;  // it may have been at its end, but never gets there
  Fiber::change(*threads_[current_].fiber, host_);
}

void Engine::note(std::string_view text) {
  if (trace_.on()) record(std::string("note: ") + std::string(text));
}

// --- watched memory ---

void* Engine::take_block(std::size_t bytes, std::size_t alignment, std::string_view name) {
  void* memory = ::operator new(bytes, std::align_val_t(alignment));
  std::string text =
      name.empty() ? "block" + std::to_string(blocks_.size() + 1) : std::string(name);
  trace_.name(text, memory, bytes);
  blocks_.push_back({memory, alignment, std::move(text), false});
  return memory;
}

void Engine::give_block(const void* block) {
  for (Block& known : blocks_) {
    if (known.memory != block) continue;
    if (known.given) fail("double free", known.name + " is freed twice");
    known.given = true;
    if (trace_.on()) record("free " + known.name);
    return;
  }
  fail("double free", "what is freed was not made here, or is not the whole of it");
}

}  // namespace bulkhead::model
