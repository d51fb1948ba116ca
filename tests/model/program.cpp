#include "program.hpp"

#include <array>
#include <cstdlib>
#include <memory>

#include "trace.hpp"

namespace bulkhead::model {

namespace {

using Kind = Instruction::Kind;

struct State {
  std::array<ModelSync::atomic<std::uint32_t>, Program::kLocations> memory;
  std::array<std::string, kMaxThreads> read;
};

unsigned below(std::mt19937& random, unsigned limit) {
  return static_cast<unsigned>(random() % limit);  // not std::uniform_…: the same everywhere
}

template <std::size_t kSize>
std::memory_order any_of(std::mt19937& random, const std::array<std::memory_order, kSize>& from) {
  return from[below(random, kSize)];
}

std::memory_order random_order(std::mt19937& random, Kind kind) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  constexpr auto kAcquire = std::memory_order_acquire;
  constexpr auto kRelease = std::memory_order_release;
  constexpr auto kAcqRel = std::memory_order_acq_rel;
  constexpr auto kSeqCst = std::memory_order_seq_cst;
  if (kind == Kind::kLoad) return any_of<3>(random, {kRelaxed, kAcquire, kSeqCst});
  if (kind == Kind::kStore) return any_of<3>(random, {kRelaxed, kRelease, kSeqCst});
  if (kind == Kind::kFence) {
    return any_of<6>(random, {kAcquire, kRelease, kAcqRel, kSeqCst, kSeqCst, kSeqCst});
  }
  return any_of<5>(random, {kRelaxed, kAcquire, kRelease, kAcqRel, kSeqCst});
}

void note_value(State& state, unsigned self, std::uint32_t value) {
  state.read[self] += std::to_string(value) + ' ';
}

void execute(State& state, unsigned self, const Instruction& i) {
  ModelSync::atomic<std::uint32_t>& at = state.memory[i.location];
  std::uint32_t expected = i.expected;
  switch (i.kind) {
    case Kind::kLoad:
      return note_value(state, self, at.load(i.order));
    case Kind::kStore:
      return at.store(i.value, i.order);
    case Kind::kExchange:
      return note_value(state, self, at.exchange(i.value, i.order));
    case Kind::kCompare:
      at.compare_exchange_strong(expected, i.value, i.order, i.failure);
      return note_value(state, self, expected);
    case Kind::kFence:
      return ModelSync::fence(i.order);
    case Kind::kWaitFor:
      return note_value(state, self,
                        static_cast<std::uint32_t>(ModelSync::futex_wait_for(at, i.expected, 1)));
    case Kind::kWake:
      return ModelSync::futex_wake(at, i.value % 2 == 0 ? 1 : 2);
    case Kind::kSpin:
      for (int turns = 0; turns < 3 && expected == i.expected; ++turns) {
        if (turns > 0) ModelSync::spin_hint();
        expected = at.load(i.order);
      }
      return note_value(state, self, expected);
  }
}

std::string text_of(const Instruction& i) {
  const std::string at(1, "xy"[i.location]);
  const std::string order(order_text(i.order));
  switch (i.kind) {
    case Kind::kLoad:
      return at + ".load(" + order + ")";
    case Kind::kStore:
      return at + ".store(" + std::to_string(i.value) + ", " + order + ")";
    case Kind::kExchange:
      return at + ".exchange(" + std::to_string(i.value) + ", " + order + ")";
    case Kind::kCompare:
      return at + ".cas(" + std::to_string(i.expected) + ", " + std::to_string(i.value) + ", " +
             order + ", " + std::string(order_text(i.failure)) + ")";
    case Kind::kFence:
      return "fence(" + order + ")";
    case Kind::kWaitFor:
      return at + ".wait_for(" + std::to_string(i.expected) + ")";
    case Kind::kWake:
      return at + ".wake(" + std::to_string(i.value % 2 == 0 ? 1 : 2) + ")";
    case Kind::kSpin:
      return at + ".spin_while(" + std::to_string(i.expected) + ", " + order + ")";
  }
  return "?";
}

}  // namespace

std::string Program::text() const {
  std::string text;
  for (const std::vector<Instruction>& thread : threads) {
    for (const Instruction& instruction : thread) text += text_of(instruction) + "; ";
    text += '\n';
  }
  return text;
}

Program random_program(std::mt19937& random, const Shape& shape) {
  Program program;
  program.threads.resize(shape.threads);
  std::uint32_t fresh = 0;
  for (unsigned n = 0; n < shape.instructions; ++n) {
    Instruction i{};
    i.kind = static_cast<Kind>(below(random, shape.sleeps ? 8 : 5));
    i.location = below(random, Program::kLocations);
    i.order = random_order(random, i.kind);
    i.failure = random_order(random, Kind::kLoad);
    i.expected = below(random, fresh + 1);
    i.value = ++fresh;
    if (i.kind == Kind::kSpin || i.kind == Kind::kWaitFor) i.expected = 0;
    if (i.kind == Kind::kSpin) i.order = random_order(random, Kind::kLoad);
    const unsigned thread = n < shape.threads ? n : below(random, shape.threads);
    program.threads[thread].push_back(i);
  }
  return program;
}

std::set<std::string> outcomes_of(const Program& program, const Options& options, Result& result) {
  std::set<std::string> outcomes;
  result = explore(options, [&](Run& run) {
    auto state = std::make_shared<State>();
    run.name("x", state->memory[0]);
    run.name("y", state->memory[1]);
    for (unsigned t = 0; t < program.threads.size(); ++t) {
      run.thread("t", [state, t, &program] {
        for (const Instruction& i : program.threads[t]) execute(*state, t, i);
      });
    }
    run.finally([state, &program, &outcomes] {
      std::string outcome;
      for (unsigned t = 0; t < program.threads.size(); ++t) outcome += state->read[t] + "| ";
      for (const auto& at : state->memory) outcome += std::to_string(at.load()) + ' ';
      outcomes.insert(outcome);
    });
  });
  return outcomes;
}

unsigned programs_to_try(unsigned usual) {
  const char* wanted = std::getenv("BULKHEAD_MODEL_PROGRAMS");
  return wanted == nullptr ? usual : static_cast<unsigned>(std::strtoul(wanted, nullptr, 10));
}

}  // namespace bulkhead::model
