// What blocking costs in switches: a core leaves the blocked actor's stack for a fresh one, and
// later abandons that to go on on the one that was left.
#include "machine/fiber.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "machine/stack.hpp"

namespace {

using bulkhead::machine::ExceptionState;
using bulkhead::machine::Stack;
using bulkhead::machine::StackPool;

const std::uint8_t kClass = bulkhead::machine::stack_class(64 * 1024);  // the usual one

struct Switch {
  Stack thread;  // stands for the benchmark's own stack
  Stack* fresh = nullptr;
  ExceptionState* exceptions = bulkhead::machine::thread_exceptions();
};

void go_back(void* argument) {
  auto& one = *static_cast<Switch*>(argument);
  bulkhead::machine::entered(one.fresh);
  bulkhead::machine::resume(one.fresh, &one.thread, one.exceptions);
}

void stack_left_and_resumed(benchmark::State& state) {
  StackPool pool;
  Switch one;
  one.fresh = pool.take(kClass);
  for (auto _ : state) {
    bulkhead::machine::forget(one.fresh);
    bulkhead::machine::leave_thread(&one.thread, one.fresh, &go_back, &one);
  }
  pool.give(one.fresh);
}
BENCHMARK(stack_left_and_resumed);

// The same on so many stacks in turn: what is at their tops competes for the caches.
void stacks_left_and_resumed_in_turn(benchmark::State& state) {
  constexpr std::size_t kMost = 1024;
  StackPool pool;
  std::array<Stack*, kMost> fresh{};
  const auto stacks = static_cast<std::size_t>(state.range(0));
  for (std::size_t i = 0; i < stacks; ++i) fresh[i] = pool.take(kClass);
  Switch one;
  std::size_t next = 0;
  for (auto _ : state) {
    one.fresh = fresh[next];
    next = next + 1 == stacks ? 0 : next + 1;
    bulkhead::machine::forget(one.fresh);
    bulkhead::machine::leave_thread(&one.thread, one.fresh, &go_back, &one);
  }
  for (std::size_t i = 0; i < stacks; ++i) pool.give(fresh[i]);
}
BENCHMARK(stacks_left_and_resumed_in_turn)->Arg(8)->Arg(64)->Arg(1024);

}  // namespace
