#include "core/faults.hpp"

#include "core/core.hpp"
#include "core/crew.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "machine/fault.hpp"

namespace bulkhead::core {

namespace {

using machine::Fault;
using machine::FaultKind;
using machine::SignalSafeText;

constexpr int kNaps = 200;

// In the signal handler of a thread that runs a stack of ours: what it runs. While this lives,
// nobody takes the core away from it: an actor's code is outside, so the watch may want to.
class AtWork {
 public:
  AtWork() noexcept : was_(tl_seat.at.inside()) {
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
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  ~AtWork() { tl_seat.at.leave(was_); }

  void name(SignalSafeText& line) const noexcept {
    if (away_ != nullptr) {
      name(line, away_->away_pid, *away_->away_kind);
    } else if (core_ == nullptr) {
      line << "an actor that is being taken for stuck";
    } else if (const Slot* slot = core_->running; slot != nullptr) {
      name(line, pid_of(*slot), *slot->kind);
    } else {
      line << "the runtime, or a hook that it called, on its core number " << core_->index
           << " of the process";
    }
  }

  [[nodiscard]] const machine::Stack& stack() const noexcept {
    static constexpr machine::Stack kUnknown{};
    if (away_ != nullptr) return *away_->away_stack;
    return core_ != nullptr ? *core_->stack : kUnknown;
  }

 private:
  static void name(SignalSafeText& line, Pid pid, const ActorClass& kind) noexcept {
    line << "actor <" << pid.index() << "." << pid.generation() << "> (";
    line.append(kind.name.data(), kind.name.size()) << ")";
  }

  std::uint8_t was_;
  const Worker* away_ = nullptr;  // its actor is away
  const Core* core_ = nullptr;
};

bool tell(const Fault& fault) noexcept {
  if (tl_seat.at.mine() == nullptr) return false;
  const AtWork work;
  const FaultKind kind =
      machine::kind_of_fault(fault.signal, fault.code, fault.address, &work.stack());
  SignalSafeText line;
  line << "bulkhead: ";
  if (kind == FaultKind::kStackOverflow) {
    line << "stack overflow in ";
    work.name(line);
    line << ", its stack has " << work.stack().size()
         << " bytes: ask for more with SpawnOptions::stack_size or Config::stack_size";
  } else {
    line << machine::name_of_signal(fault.signal) << " in ";
    work.name(line);
    if (kind == FaultKind::kSent) {
      line << ", sent by somebody, not a fault of its own";
    } else if (kind == FaultKind::kAccess) {
      line << ", at address ";
      line.hexadecimal(reinterpret_cast<std::uintptr_t>(fault.address));
    }
  }
  line.write_to_stderr();
  return false;
}

}  // namespace

void report_faults() { machine::watch_faults(&tell); }

}  // namespace bulkhead::core
