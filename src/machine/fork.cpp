#include "machine/fork.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <optional>

#include "base/check.hpp"
#include "base/critical.hpp"

namespace bulkhead::machine {

namespace {

struct Held {
  sync::Mutex lock;
  std::array<sync::Mutex*, 12> locks{};  // in the order in which they are taken
  std::size_t count = 0;
  // Other handlers of the fork may allocate. There is one fork at a time, under the lock.
  std::optional<base::Critical> critical;
};

Held& held() {
  static auto* one = new Held;  // never destroyed: somebody may fork at the very end
  return *one;
}

void take_all() {
  Held& all = held();
  all.lock.lock();
  all.critical.emplace("a fork must not block");
  for (std::size_t i = 0; i < all.count; ++i) all.locks[i]->lock();
}

void release_all() {
  Held& all = held();
  for (std::size_t i = all.count; i > 0; --i) all.locks[i - 1]->unlock();
  all.critical.reset();
  all.lock.unlock();
}

}  // namespace

bool in_each_fork(void (*function)()) noexcept {
  return pthread_atfork(nullptr, nullptr, function) == 0;
}

ForkMutex::ForkMutex(Nesting nesting) {
  static const bool registered = pthread_atfork(&take_all, &release_all, &release_all) == 0;
  if (!registered) throw std::bad_alloc();
  Held& all = held();
  const sync::Guard guard(all.lock);
  BULKHEAD_CHECK(all.count < all.locks.size(), "there are few locks of the whole process");
  auto* end = all.locks.begin() + all.count++;
  auto* place = nesting == Nesting::kOuter ? all.locks.begin() : end;
  std::copy_backward(place, end, end + 1);
  *place = this;
}

ForkMutex::~ForkMutex() {
  Held& all = held();
  const sync::Guard guard(all.lock);
  auto* end = all.locks.begin() + all.count;
  auto* place = std::find(all.locks.begin(), end, this);
  std::copy(place + 1, end, place);
  --all.count;
}

}  // namespace bulkhead::machine
