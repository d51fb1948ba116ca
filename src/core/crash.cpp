// What is told of an actor that has crashed.
#include <new>
#include <string>
#include <utility>

#include "base/error_log.hpp"
#include "bulkhead/join.hpp"
#include "core/bond.hpp"
#include "core/compartment.hpp"
#include "core/domain.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"
#include "core/names.hpp"
#include "core/reporter.hpp"
#include "core/slab.hpp"

namespace bulkhead::core {

// What it is at; by the class of the signal, whose own memory may be gone.
std::string_view name_in_hand(const Slot& slot, const machine::Stack& stack) noexcept {
  if (stack.in_hand_ops != nullptr) return stack.in_hand_ops->name;
  if (slot.has(Slot::kTimeoutDue)) return "receive timeout";
  if (slot.has(Slot::kStartPending) && !slot.kind->runs_once) return "started()";
  return {};
}

namespace {

// A slot may be another actor's by the time that it has been read: then that one is not told.
void add_ancestors(CrashReport& report, Pid parent, Names& names) {
  while (parent && report.ancestors.size() < CrashReport::kMostListed) {
    const Slot* slot = Slab::find(parent.index());
    if (!lives(slot, parent)) return;
    const ActorClass* kind = slot->kind;
    const Pid next = slot->parent;
    if (!lives(slot, parent)) return;
    report.ancestors.push_back({parent, names.name_of(parent), kind->name});
    parent = next;
  }
}

CrashReport::Other other(Pid pid, Names& names) {
  CrashReport::Other known{pid, names.last_name_of(pid)};
  const Slot* slot = Slab::find(pid.index());
  if (!lives(slot, pid)) return known;
  const ActorClass* kind = slot->kind;
  if (lives(slot, pid)) known.type = kind->name;
  return known;
}

void fill(CrashReport& report, const Slot& slot, const Exit& exit, Domain& domain) {
  report.time = std::chrono::system_clock::now();
  report.actor = pid_of(slot);
  report.type = slot.kind->name;
  report.kind = exit.kind();
  report.trap = exit.trap();
  report.reason = exit.message();
  report.reason_type = exit.type();
  report.causes.assign(exit.causes().begin(), exit.causes().end());
  report.place = exit.place();
  report.mailbox = slot.length;
  Names& names = *domain.names();
  if (slot.extras != nullptr) {
    // Who is sentenced may fail on its way out.
    report.by_signal =
        slot.extras->sentenced == Sentenced::kBySignal && exit == slot.extras->sentence;
    const Bonds::Counts counts = slot.extras->bonds.count();
    report.link_count = counts.links;
    report.monitoring = counts.monitoring;
    report.monitored = counts.monitored;
    report.links = first_links(slot.extras->bonds, CrashReport::kMostListed);
    if (const Rare* rare = slot.extras->rare; rare != nullptr) {
      report.restarts = rare->restarts;
      if (rare->compartment != nullptr) report.restarts += rare->compartment->restarts.all;
      if (rare->notes != nullptr) {
        report.label = rare->notes->label;
        if (report.by_signal && rare->notes->sent_by)
          report.sent_by = other(rare->notes->sent_by, names);
      }
    }
  }
  report.name = names.name_of(report.actor);
  add_ancestors(report, slot.parent, names);
}

}  // namespace

std::unique_ptr<Told> Core::describe(const Slot& slot, const Exit& exit,
                                     const Settled& settled) noexcept {
  Domain& domain = *current()->domain.load(std::memory_order_relaxed);
  Reporter& reporter = domain.reporter;
  // Whether one that may be joined is to be told turns out later.
  const bool later = slot.kind->joint != nullptr;
  if (later ? !reporter.tells() : !reporter.admits(Reporter::Kind::kCrash, current()->now_)) {
    return nullptr;
  }
  const InTheMiddle here;  // what takes memory is not made to give way
  try {
    auto told = std::make_unique<Told>();
    told->crash = std::make_unique<CrashReport>();
    told->stack.assign(exit.stack().begin(), exit.stack().end());
    told->crash->message = settled.in_hand;
    told->crash->handled = slot.handled + settled.handled;
    fill(*told->crash, slot, exit, domain);
    if (later) told->domain = &domain;
    told->run = reporter.run();
    return told;
  } catch (const std::bad_alloc&) {
    if (!later) reporter.lost(Reporter::Kind::kCrash);
    return nullptr;
  }
}

// When its runtime has ended there is nobody to tell.
void Joint::tell_of_crash() noexcept {
  std::unique_ptr<Told> told(std::exchange(crash, nullptr));
  const Inside inside;
  Domain& domain = *told->domain;
  const Telling runs(domain);
  if (runs && domain.reporter.run() == told->run) domain.reporter.put_late(std::move(told));
}

void Joint::discard_crash() noexcept {
  const Inside inside;
  delete std::exchange(crash, nullptr);
}

namespace {

// Where describe_crash puts it: the running actor is being destroyed, and is to be told of.
CrashReport* being_told(const Core* core) noexcept {
  return core != nullptr && core->running != nullptr ? core->stack->crash : nullptr;
}

}  // namespace

}  // namespace bulkhead::core

namespace bulkhead {

bool crash_is_reported() noexcept {
  const core::BrieflyInside inside;
  return core::being_told(inside.core()) != nullptr;
}

void describe_crash(std::string state, std::string message) noexcept {
  const core::BrieflyInside inside;
  CrashReport* report = core::being_told(inside.core());
  if (report == nullptr) return;
  // Copied: of an isolated actor they lie in its heap, which is about to go.
  report->state = std::string(state);
  if (!message.empty() && !report->message.empty()) report->message = std::string(message);
}

void log_line(std::string text, LineKind kind) noexcept {
  {
    const core::Inside inside;
    const core::Core* core = core::Core::current();
    core::Domain* domain = core != nullptr ? core->domain.load(std::memory_order_relaxed) : nullptr;
    if (domain != nullptr) return domain->reporter.put_line(core::line_kind(kind), text);
  }
  base::log_error(base::Severity::kWarning, text);
}

}  // namespace bulkhead
