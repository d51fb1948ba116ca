#include "memory.hpp"

#include <algorithm>

namespace bulkhead::model {

namespace {

constexpr Tick kStampStep = 1 << 16;  // leaves room for stores that come earlier

void join(std::vector<Tick>& into, std::span<const Tick> other, std::size_t from = 0) {
  Tick* to = into.data();
  for (std::size_t i = from; i < other.size(); ++i) to[i] = std::max(to[i], other[i]);
}

// Adds a store right behind message i, if one may come there.
void add_behind(const std::vector<Message>& history, std::size_t i, OptionList& list) {
  if (i + 1 < history.size()) {
    if (history[i + 1].attached) return;
    if (history[i + 1].stamp - history[i].stamp < 2) return list.overflow();
  }
  list.add(i, Outcome::kDone);
}

Tick stamp_behind(const std::vector<Message>& history, std::size_t i) {
  const Tick low = history[i].stamp;
  return i + 1 == history.size() ? low + kStampStep : low + (history[i + 1].stamp - low) / 2;
}

}  // namespace

Tick* Memory::Arena::take(std::size_t count) {
  if (count > kChunk - used_ || chunks_.empty()) {
    if (!chunks_.empty()) ++chunk_;
    used_ = 0;
    if (chunk_ == chunks_.size()) {
      chunks_.push_back(std::make_unique_for_overwrite<Tick[]>(kChunk));
    }
  }
  Tick* taken = chunks_[chunk_].get() + used_;
  used_ += count;
  return taken;
}

void Memory::reset() {
  widen(kMaxThreads - 1);
  for (unsigned t = 0; t < kMaxThreads; ++t) {
    ThreadViews& views = threads_[t];
    std::fill_n(views.now.begin(), kMaxThreads, 0);
    views.now[t] = 1;
    views.has_acquirable = views.has_released = false;
  }
  used_ = 0;
  arena_.reset();
}

void Memory::widen(std::size_t slot) {
  if (consistent_.size() > slot) return;
  const std::size_t size = slot + 32;
  consistent_.resize(size);
  for (ThreadViews& views : threads_) {
    views.now.resize(size);
    views.acquirable.resize(size);
    views.released.resize(size);
  }
}

Location& Memory::create(unsigned thread, const void* owner, const ValueType& type,
                         std::uint64_t value, Tick now) {
  if (used_ == locations_.size()) locations_.push_back(std::make_unique<Location>());
  Location& at = *locations_[used_];
  at.history.clear();
  at.history.push_back({.value = value, .born = now, .by = static_cast<std::uint8_t>(thread)});
  at.owner = owner;
  at.type = &type;
  at.number = static_cast<std::uint32_t>(used_++);
  at.stored = 1;
  at.woken = 0;
  at.made_at = threads_[thread].now[thread];
  at.made_by = static_cast<std::uint8_t>(thread);
  at.sleepers = 0;
  at.dead = false;
  at.touched.fill(0);
  if (mode_ == MemoryMode::kWeak) {
    widen(slot(at));
    consistent_[slot(at)] = 0;
    for (ThreadViews& views : threads_) {
      views.now[slot(at)] = views.acquirable[slot(at)] = views.released[slot(at)] = 0;
    }
  }
  return at;
}

Access Memory::touch(unsigned thread, Location& at) {
  if (at.dead) return Access::kDead;
  if (!sees(thread, at.made_by, at.made_at)) return Access::kUnordered;
  at.touched[thread] = threads_[thread].now[thread];
  return Access::kFine;
}

Access Memory::destroy(unsigned thread, Location& at) {
  const Access access = touch(thread, at);
  at.dead = true;
  if (access != Access::kFine) return access;
  for (unsigned other = 0; other < kMaxThreads; ++other) {
    if (!sees(thread, other, at.touched[other])) return Access::kUnordered;
  }
  return Access::kFine;
}

Tick Memory::floor(unsigned thread, const Location& at, std::memory_order order) const {
  if (mode_ == MemoryMode::kSequential) return 0;
  const Tick seen = threads_[thread].now[slot(at)];
  return order == std::memory_order_seq_cst ? std::max(seen, consistent_[slot(at)]) : seen;
}

void Memory::options(const Op& op, unsigned thread, Tick since, Freedom freedom,
                     OptionList& list) const {
  list.clear();
  const std::vector<Message>& history = op.at->history;
  Tick low = floor(thread, *op.at, op.order);
  if (op.kind == OpKind::kWait) low = std::max(low, op.at->woken);
  const Tick low_failure = op.kind == OpKind::kCompare ? floor(thread, *op.at, op.failure) : low;
  for (std::size_t i = history.size(); i-- > 0;) {
    const Message& message = history[i];
    if (message.stamp < low && message.stamp < low_failure) break;
    if (!freedom.stale && i + 1 < history.size()) break;
    if (message.born <= since) continue;
    const bool equal = message.value == op.expected;
    switch (op.kind) {
      case OpKind::kLoad:
        list.add(i, Outcome::kDone);
        break;
      case OpKind::kStore:
      case OpKind::kModify:
        add_behind(history, i, list);
        break;
      case OpKind::kCompare:
        if (equal && message.stamp >= low) add_behind(history, i, list);
        if (message.stamp < low_failure) break;
        if (!equal) list.add(i, Outcome::kFails);
        if (equal && op.may_fail && freedom.spurious) list.add(i, Outcome::kSpurious);
        break;
      case OpKind::kWait:
        list.add(i, equal ? Outcome::kSleeps : Outcome::kDone);
        if (equal && freedom.spurious) list.add(i, Outcome::kSpurious);
        break;
      default:
        break;
    }
  }
}

void Memory::move_to(unsigned thread, const Location& at, Tick stamp, std::memory_order order) {
  if (mode_ == MemoryMode::kSequential) return;
  Tick& seen = threads_[thread].now[slot(at)];
  seen = std::max(seen, stamp);
  if (order == std::memory_order_seq_cst) {
    Tick& shared = consistent_[slot(at)];
    shared = std::max(shared, stamp);
  }
}

void Memory::read(unsigned thread, Location& at, std::size_t message, std::memory_order order) {
  const Message& from = at.history[message];
  move_to(thread, at, from.stamp, order);
  if (from.view.empty()) return;
  ThreadViews& views = threads_[thread];
  if (acquires(order)) {
    join(views.now, from.view);
    return;
  }
  if (!views.has_acquirable) {
    views.has_acquirable = true;
    std::fill_n(views.acquirable.begin(), width(), 0);
  }
  join(views.acquirable, from.view);
}

std::span<const Tick> Memory::publish(unsigned thread, std::memory_order order,
                                      std::span<const Tick> inherited) {
  const ThreadViews& views = threads_[thread];
  if (!releases(order) && !views.has_released) return inherited;
  const View& base = releases(order) ? views.now : views.released;
  Tick* view = arena_.take(width());
  std::copy_n(base.begin(), width(), view);
  for (std::size_t i = 0; i < inherited.size(); ++i) view[i] = std::max(view[i], inherited[i]);
  return {view, width()};
}

void Memory::insert(Location& at, std::size_t after, Message message) {
  message.id = at.stored++;
  if (mode_ == MemoryMode::kSequential) {
    at.history.front() = message;
  } else {
    at.history.insert(at.history.begin() + static_cast<std::ptrdiff_t>(after) + 1, message);
  }
}

void Memory::write(unsigned thread, Location& at, std::size_t after, std::uint64_t value,
                   std::memory_order order, Tick now) {
  const Tick stamp = stamp_behind(at.history, after);
  move_to(thread, at, stamp, order);
  insert(at, after,
         {.value = value,
          .stamp = stamp,
          .born = now,
          .by = static_cast<std::uint8_t>(thread),
          .view = publish(thread, order, {})});
}

void Memory::modify(unsigned thread, Location& at, std::size_t from, std::uint64_t value,
                    std::memory_order order, Tick now) {
  read(thread, at, from, order);
  const std::span<const Tick> inherited = at.history[from].view;
  const Tick stamp = stamp_behind(at.history, from);
  move_to(thread, at, stamp, order);
  insert(at, from,
         {.value = value,
          .stamp = stamp,
          .born = now,
          .by = static_cast<std::uint8_t>(thread),
          .attached = true,
          .view = publish(thread, order, inherited)});
}

void Memory::overwrite(Location& at, std::uint64_t value) { at.history.back().value = value; }

void Memory::fence(unsigned thread, std::memory_order order) {
  ThreadViews& views = threads_[thread];
  if (acquires(order) && views.has_acquirable) {
    join(views.now, {views.acquirable.data(), width()});
  }
  if (order == std::memory_order_seq_cst && mode_ == MemoryMode::kWeak) {
    join(views.now, {consistent_.data(), width()}, kMaxThreads);
    std::copy_n(views.now.begin() + kMaxThreads, used_, consistent_.begin() + kMaxThreads);
  }
  if (releases(order)) {
    std::copy_n(views.now.begin(), width(), views.released.begin());
    views.has_released = true;
  }
}

void Memory::wake(unsigned thread, Location& at) {
  at.woken = std::max(at.woken, floor(thread, at, std::memory_order_relaxed));
}

std::size_t Memory::other_value(const Location& at, std::uint32_t id, std::uint64_t value) const {
  std::size_t i = 0;
  if (mode_ == MemoryMode::kWeak) {
    while (at.history[i].id != id) ++i;
  }
  while (i < at.history.size() && at.history[i].value == value) ++i;
  return i;
}

void Memory::pass_to(unsigned thread, Location& at, std::size_t message) {
  move_to(thread, at, at.history[message].stamp, std::memory_order_relaxed);
}

Access Memory::read_plain(unsigned thread, PlainHistory& at) {
  if (at.dead) return Access::kDead;
  if (!sees(thread, at.writer, at.written)) return Access::kUnordered;
  at.read[thread] = threads_[thread].now[thread];
  return Access::kFine;
}

Access Memory::write_plain(unsigned thread, PlainHistory& at) {
  if (at.dead) return Access::kDead;
  if (!sees(thread, at.writer, at.written)) return Access::kUnordered;
  for (unsigned other = 0; other < kMaxThreads; ++other) {
    if (!sees(thread, other, at.read[other])) return Access::kUnordered;
  }
  at.writer = static_cast<std::uint8_t>(thread);
  at.written = threads_[thread].now[thread];
  return Access::kFine;
}

void Memory::inherit(unsigned to, unsigned from) {
  join(threads_[to].now, {threads_[from].now.data(), width()});
}

}  // namespace bulkhead::model
