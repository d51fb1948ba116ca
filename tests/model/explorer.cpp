#include "explorer.hpp"

#include <cstdio>
#include <cstdlib>

#include "engine.hpp"

namespace bulkhead::model {

namespace {

Engine& engine(const char* caller) {
  Engine* active = Engine::active();
  if (active == nullptr) {
    std::fprintf(stderr, "bulkhead model: %s outside of an exploration\n", caller);
    std::abort();
  }
  return *active;
}

// The engine that models this object, or null if none runs.
Engine* engine_of(std::uint64_t run) {
  Engine* active = Engine::active();
  if (active != nullptr && run != active->run_number()) {
    active->fail("model", "an object is used that was not made in this run: make it in the setup");
  }
  return active;
}

}  // namespace

std::string Result::summary() const {
  return mode + ": " + std::to_string(executions) + " executions in " +
         std::to_string(static_cast<std::uint64_t>(seconds * 1e3)) + " ms, " +
         (exhausted ? "exhausted" : failure.substr(0, failure.find(':')));
}

std::string Result::report() const {
  if (ok()) return summary() + '\n';
  std::string text = failure + "\n  " + summary() + '\n';
  if (!trace.empty()) text += "  step  (* after a preemption)\n" + trace;
  if (!replay.empty()) text += "  again: BULKHEAD_MODEL_REPLAY='" + replay + "'\n";
  return text;
}

Result explore(const Options& options, std::function<void(Run&)> setup) {
  return Engine(options, std::move(setup)).explore();
}

void Run::thread(std::string_view name, Body body) { engine_.add_thread(name, std::move(body)); }

void Run::finally(Body body) { engine_.add_finally(std::move(body)); }

void Run::name_region(std::string_view text, const void* begin, std::size_t bytes) {
  engine_.trace().name(text, begin, bytes);
}

void check(bool condition, std::string_view what) {
  if (!condition) [[unlikely]]
    engine("check").fail("check failed", what);
}

void note(std::string_view text) { engine("note").note(text); }

unsigned this_thread() { return engine("this_thread").current() - 1; }

void* Blocks::take(std::size_t bytes, std::size_t alignment, std::string_view name) {
  return engine("make").take_block(bytes, alignment, name);
}

void Blocks::give(const void* block) { engine("free").give_block(block); }

std::string address_text(std::uint64_t address) {
  Engine* active = Engine::active();
  return active == nullptr ? hex_text(address) : active->trace().address(address);
}

std::string number_text(std::uint64_t number) {
  constexpr std::uint64_t kLowestAddress = 1 << 16;
  constexpr std::uint64_t kReadable = 1'000'000;
  Engine* active = Engine::active();
  if (active != nullptr && number >= kLowestAddress && active->trace().known(number)) {
    return active->trace().address(number);
  }
  return number < kReadable ? std::to_string(number) : hex_text(number);
}

// --- from ModelSync to the engine ---

void Operations::create(Cell& cell, const void* owner, const ValueType& type) {
  Engine* active = Engine::active();
  if (active == nullptr) return;
  cell.run = active->run_number();
  cell.location = &active->create(owner, type, cell.value);
}

void Operations::destroy(Cell& cell) {
  Engine* active = Engine::active();
  if (active != nullptr && cell.run == active->run_number()) active->destroy(*cell.location);
}

std::uint64_t Operations::load(Cell& cell, std::memory_order order) {
  Engine* active = engine_of(cell.run);
  return active == nullptr ? cell.value : active->load(*cell.location, order);
}

void Operations::store(Cell& cell, std::uint64_t value, std::memory_order order) {
  if (Engine* active = engine_of(cell.run)) active->store(*cell.location, value, order);
  cell.value = value;
}

std::uint64_t Operations::modify(Cell& cell, Modify modify, std::uint64_t operand,
                                 std::memory_order order, const char* name) {
  Engine* active = engine_of(cell.run);
  const std::uint64_t old = active == nullptr ? cell.value
                                              : active->modify({.kind = OpKind::kModify,
                                                                .order = order,
                                                                .failure = order,
                                                                .at = cell.location,
                                                                .operand = operand,
                                                                .modify = modify,
                                                                .name = name});
  cell.value = modify(old, operand);
  return old;
}

bool Operations::compare(Cell& cell, std::uint64_t& expected, std::uint64_t desired, Op op) {
  Engine* active = engine_of(cell.run);
  bool done = cell.value == expected;
  if (active == nullptr) {
    expected = cell.value;
  } else {
    op.kind = OpKind::kCompare;
    op.at = cell.location;
    op.operand = desired;
    op.expected = expected;
    done = active->compare(expected, op);
  }
  if (done) cell.value = desired;
  return done;
}

void Operations::fence(std::memory_order order) {
  if (Engine* active = Engine::active()) active->fence(order);
}

sync::FutexWait Operations::wait(Cell& cell, std::uint32_t expected, Op op) {
  Engine* active = engine_of(cell.run);
  if (active == nullptr) return sync::FutexWait::kReturned;
  op.kind = OpKind::kWait;
  op.at = cell.location;
  op.expected = expected;
  return active->wait(op);
}

void Operations::wake(Cell& cell, int count) {
  if (Engine* active = engine_of(cell.run)) active->wake(*cell.location, count);
}

void Operations::spin_hint() {
  if (Engine* active = Engine::active()) active->spin_hint();
}

void Operations::create(PlainHistory& history, std::uint64_t& run) {
  Engine* active = Engine::active();
  if (active == nullptr) return;
  run = active->run_number();
  active->create(history);
}

void Operations::destroy(PlainHistory& history, std::uint64_t run, const void* owner) {
  Engine* active = Engine::active();
  if (active == nullptr || run != active->run_number()) return;
  active->plain(active->write(history), owner, "destroyed");
  history.dead = true;
}

void Operations::read(PlainHistory& history, std::uint64_t run, const void* owner) {
  if (Engine* active = engine_of(run)) active->plain(active->read(history), owner, "read");
}

void Operations::write(PlainHistory& history, std::uint64_t run, const void* owner) {
  if (Engine* active = engine_of(run)) active->plain(active->write(history), owner, "written");
}

}  // namespace bulkhead::model
