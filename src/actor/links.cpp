#include "bulkhead/links.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "core/bond.hpp"
#include "core/compartment.hpp"
#include "core/extras.hpp"
#include "core/inside.hpp"

namespace bulkhead {

using core::Bond;
using core::Core;
using core::Slot;

namespace {

Slot& caller(const Core* core, const char* function) {
  if (core == nullptr || core->running == nullptr) {
    throw std::logic_error(std::string("bulkhead: ") + function + " was called outside any actor");
  }
  return *core->running;
}

[[noreturn]] void refuse_class(const Slot& slot, const char* function, const char* message) {
  throw std::logic_error(std::string("bulkhead: ") + function +
                         " was called by an actor of class " + std::string(slot.kind->name) +
                         ", which has no receive(bulkhead::" + message +
                         "), and could not be told");
}

}  // namespace

Delivery exit(Pid actor, Exit reason) { return core::send_exit(actor, std::move(reason)); }

Delivery kill(Pid actor) { return core::send_kill(actor); }

namespace this_actor {

MonitorRef monitor(Pid actor) {
  const core::Inside inside;
  Core* core = Core::current();
  Slot& self = caller(core, "this_actor::monitor");
  if (self.kind->down == nullptr) refuse_class(self, "this_actor::monitor", "Down");
  if (self.has(Slot::kEnding)) return {};
  if (actor == core::pid_of(self)) {
    Bond& bond = core::make_bond(*core, Bond::Kind::kMonitor, actor, actor);
    const MonitorRef unused = core::reference(bond);
    core::give_bond(&bond.news);
    return unused;
  }
  return core::reference(core::bind(*core, self, Bond::Kind::kMonitor, actor));
}

bool demonitor(MonitorRef monitor, Flush flush) {
  const core::Inside inside;
  Core* core = Core::current();
  Slot& self = caller(core, "this_actor::demonitor");
  Bond* bond = core::find_monitor(self, monitor);
  if (bond == nullptr) return false;
  if (core::is_tied(bond->ends[0])) {
    core::leave(*core, self.extras->bonds, *bond, 0);
    return true;
  }
  if (flush == Flush::kYes) core::take_news_out(*core, self, *bond);
  return false;
}

void link(Pid actor) {
  const core::Inside inside;
  Core* core = Core::current();
  Slot& self = caller(core, "this_actor::link");
  if (self.has(Slot::kEnding) || actor == core::pid_of(self)) return;
  if (core::find_link(core::extras_of(self, *core).bonds, actor) != nullptr) return;
  core::bind(*core, self, Bond::Kind::kLink, actor);
  Core::check_unwind();
}

void unlink(Pid actor, Flush flush) {
  const core::Inside inside;
  Core* core = Core::current();
  Slot& self = caller(core, "this_actor::unlink");
  if (flush == Flush::kYes) core::take_exits_out(*core, self, actor);
  if (self.extras == nullptr) return;
  // More than one, when both have linked to each other at the same time.
  core::Bonds& bonds = self.extras->bonds;
  while (Bond* bond = core::find_link(bonds, actor)) {
    core::leave(*core, bonds, *bond, bond->actor(0) == actor ? 1 : 0);
  }
}

std::vector<Pid> links() {
  const core::Inside inside;
  const Slot& self = caller(Core::current(), "this_actor::links");
  if (self.extras == nullptr) return {};
  return core::linked_to(self.extras->bonds);
}

bool trap_exits(bool trap) {
  const core::Inside inside;
  Core* core = Core::current();
  Slot& self = caller(core, "this_actor::trap_exits");
  if (self.kind->exited == nullptr) refuse_class(self, "this_actor::trap_exits", "Exited");
  core::Extras& extras = core::extras_of(self, *core);
  const bool before = extras.traps;
  extras.traps = trap;
  return before;
}

void stop(Exit reason) {
  const core::Inside inside;
  Core* core = Core::current();
  Slot& self = caller(core, "this_actor::stop");
  core->set_reason(self, core::outlasting(*core, std::move(reason)), core::Sentenced::kByItself);
  self.set(Slot::kStopAsked);
}

std::optional<Exit> exit_reason() noexcept {
  const core::BrieflyInside inside;
  const Core* core = inside.core();
  if (core == nullptr || core->running == nullptr || core->stack->exit == nullptr) {
    return std::nullopt;
  }
  return *core->stack->exit;
}

}  // namespace this_actor

}  // namespace bulkhead
