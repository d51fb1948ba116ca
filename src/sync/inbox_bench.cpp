// What the way through an inbox costs while nobody else is at it.
#include "sync/inbox.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sync/atomic.hpp"

namespace {

using bulkhead::sync::RealSync;

struct Letter {
  Letter* next = nullptr;
};

// So many pushed, then taken together, with the right of notification given up.
void inbox_pushed_and_settled(benchmark::State& state) {
  bulkhead::sync::Inbox<RealSync, Letter> inbox;
  std::vector<Letter> letters(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (Letter& letter : letters) static_cast<void>(inbox.push_remote(&letter));
    for (Letter* letter = inbox.settle(); letter != nullptr; letter = letter->next) {
      benchmark::DoNotOptimize(letter);
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(inbox_pushed_and_settled)->Arg(1)->Arg(64);

// What each local send pays so that order is kept.
void inbox_found_empty(benchmark::State& state) {
  bulkhead::sync::Inbox<RealSync, Letter> inbox;
  for (auto _ : state) {
    bool mail = inbox.has_mail();
    benchmark::DoNotOptimize(mail);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(inbox_found_empty);

}  // namespace
