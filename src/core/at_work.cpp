#include "core/at_work.hpp"

#include "memory/current_heap.hpp"

namespace bulkhead::core {

namespace {

constexpr int kNaps = 200;

void name_actor(machine::SignalSafeText& line, Pid pid, const ActorClass& kind) noexcept {
  line << "actor <" << pid.index() << "." << pid.generation() << "> (";
  line.append(kind.name.data(), kind.name.size()) << ")";
}

}  // namespace

AtWork::AtWork() noexcept : was_(tl_seat.at.inside()) {
  const auto gone = [this]() noexcept {
    away_ = tl_seat.worker->away.observe() != nullptr ? tl_seat.worker : nullptr;
    return away_ != nullptr;
  };
  const auto nap = [naps = kNaps]() mutable noexcept {
    machine::nap();
    return naps-- > 0;
  };
  core_ = tl_seat.at.enter_without_lock(was_ | BrieflyInside::kMark, gone, nap);
}

const Slot* AtWork::isolated() const noexcept {
  if (was_ != 0 && was_ != memory::CurrentHeap::kCrossing) return nullptr;
  const Slot* slot = nullptr;
  if (away_ != nullptr) {
    slot = away_->away;
  } else if (core_ != nullptr) {
    slot = core_->running;
  }
  return slot != nullptr && slot->isolated() ? slot : nullptr;
}

void AtWork::name(machine::SignalSafeText& line) const noexcept {
  if (away_ != nullptr) {
    name_actor(line, away_->away_pid, *away_->away_kind);
  } else if (core_ == nullptr) {
    line << "an actor that is being taken for stuck";
  } else if (const Slot* slot = core_->running; slot != nullptr) {
    name_actor(line, pid_of(*slot), *slot->kind);
  } else {
    line << "the runtime, or a hook that it called, on its core number " << core_->index
         << " of the process";
  }
}

machine::Stack* AtWork::stack() const noexcept {
  if (away_ != nullptr) return away_->away_stack;
  return core_ != nullptr ? core_->stack : nullptr;
}

}  // namespace bulkhead::core
