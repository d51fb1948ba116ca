#include "core/belongings.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/inside.hpp"

namespace bulkhead::core {

constinit thread_local Belongings* tl_owner [[gnu::tls_model("initial-exec")]] = nullptr;

namespace {

constexpr Belonging::Ops kNothing = {[](const Belonging& /*each*/) noexcept { return true; },
                                     [](const Belonging& /*each*/) noexcept {}};

bool is(const Belonging& each, const Belonging::Ops& ops, std::uint64_t first) noexcept {
  return each.ops == &ops && each.what[0] == first;
}

}  // namespace

void Belongings::prune() noexcept {
  if (leaving_ != 0 || all_.size() < prune_at_) return;
  std::erase_if(all_, [](const Belonging& each) { return each.ops->is_over(each); });
  prune_at_ = std::max<std::size_t>(16, 2 * all_.size());
}

void Belongings::add(const Belonging& belonging) {
  if (expected_ > 0) {
    --expected_;
  } else {
    prune();
  }
  all_.push_back(belonging);
}

void Belongings::expect() {
  prune();
  const std::size_t needed = all_.size() + expected_ + 1;
  if (needed > all_.capacity()) all_.reserve(std::max(needed, 2 * all_.capacity()));
  ++expected_;
}

Belonging* Belongings::find(const Belonging::Ops& ops, std::uint64_t first) noexcept {
  const auto newest = std::find_if(all_.rbegin(), all_.rend(),
                                   [&](const Belonging& each) { return is(each, ops, first); });
  return newest != all_.rend() ? &*newest : nullptr;
}

void Belongings::forget(const Belonging::Ops& ops, std::uint64_t first) noexcept {
  if (leaving_ == 0 && !all_.empty() && is(all_.back(), ops, first)) [[likely]] {
    all_.pop_back();
    return;
  }
  Belonging* newest = find(ops, first);
  if (newest == nullptr) return;
  if (leaving_ != 0) {
    newest->ops = &kNothing;  // those behind it stay where they are
  } else {
    all_.erase(all_.begin() + (newest - all_.data()));
  }
}

void Belongings::release_all() noexcept {
  for (const Belonging& each : std::exchange(all_, {})) each.ops->release(each);
  expected_ = leaving_ = 0;
}

std::size_t Belongings::begin_leaving() noexcept {
  ++leaving_;
  return all_.size();
}

void Belongings::end_leaving(std::size_t before) noexcept {
  BULKHEAD_ASSERT(leaving_ > 0 && before <= all_.size(), "nothing changes its place meanwhile");
  --leaving_;
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(before), all_.end());
}

// Out of line: who calls this may have switched stacks, and is on another thread than before.
[[gnu::noinline]] Belongings* owner() noexcept {
  asm volatile("" ::: "memory");
  return tl_owner;
}
[[gnu::noinline]] Belongings* set_owner(Belongings* owner) noexcept {
  asm volatile("" ::: "memory");
  return std::exchange(tl_owner, owner);
}

// Inside, so that the list grows in the process's memory; and who was away comes home first.
void expect_of_owner() {
  const BrieflyInside inside;
  if (Belongings* mine = owner(); mine != nullptr) mine->expect();
}
void add_to_owner(const Belonging& belonging) {
  const BrieflyInside inside;
  if (Belongings* mine = owner(); mine != nullptr) mine->add(belonging);
}
void forget_of_owner(const Belonging::Ops& ops, std::uint64_t first) noexcept {
  const BrieflyInside inside;
  if (Belongings* mine = owner(); mine != nullptr) mine->forget(ops, first);
}

}  // namespace bulkhead::core
