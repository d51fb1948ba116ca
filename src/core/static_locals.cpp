#include "core/static_locals.hpp"

#include <new>

#include "base/critical.hpp"
#include "bulkhead/over_wall.hpp"
#include "core/belongings.hpp"
#include "core/inside.hpp"
#include "machine/static_locals.hpp"
#include "memory/current_heap.hpp"

namespace bulkhead::core {

namespace {

// A variable that an isolated actor initialises: its guard, and the memory of the stretch in which
// it does, an OverWall. What it makes meanwhile leaves it, as a message does.
constexpr Belonging::Ops kInitialised = {
    [](const Belonging& /*each*/) noexcept { return false; },
    [](const Belonging& each) noexcept {
      ::operator delete(reinterpret_cast<void*>(each.what[1]));
      machine::abandon_static_local(reinterpret_cast<void*>(each.what[0]));
    }};

[[gnu::noinline]] bool is_isolated() noexcept {
  asm volatile("" ::: "memory");
  return tl_owner != nullptr && memory::current_heap.is_isolated_code();
}

std::uint64_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uint64_t>(address);
}

void* note(void* guard) {
  const BrieflyInside inside;
  expect_belonging();
  void* memory = ::operator new(sizeof(OverWall));
  belongs_to_caller({&kInitialised, {number_of(guard), number_of(memory), 0}});
  return memory;
}

void begins(void* guard) {
  if (!is_isolated()) return;
  new (note(guard)) OverWall(OverWall::Way::kOut, nullptr);
  static_cast<void>(base::set_critical("an isolated actor initialises a static variable"));
}

void ended(void* guard) noexcept {
  Belongings* mine = owner();
  const Belonging* noted = mine != nullptr ? mine->find(kInitialised, number_of(guard)) : nullptr;
  if (noted == nullptr) return;
  auto* stretch = reinterpret_cast<OverWall*>(noted->what[1]);
  stretch->~OverWall();
  ::operator delete(stretch);
  forget_of_caller(kInitialised, number_of(guard));
}

constexpr machine::StaticLocalWatcher kWatcher{&begins, &ended};

}  // namespace

void keep_static_locals() noexcept { machine::watch_static_locals(kWatcher); }

}  // namespace bulkhead::core
