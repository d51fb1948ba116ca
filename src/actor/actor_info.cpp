#include "bulkhead/actor_info.hpp"

#include <stdexcept>

#include "bulkhead/runtime.hpp"
#include "core/core.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"

namespace bulkhead {

namespace core {

namespace {

ActorInfo::State state_of(Turn turn) noexcept {
  switch (turn) {
    case Turn::kIdle:
      return ActorInfo::State::kIdle;
    case Turn::kReady:
      return ActorInfo::State::kReady;
    case Turn::kOpening:
    case Turn::kParked:
      return ActorInfo::State::kBlocked;
    case Turn::kAway:
      return ActorInfo::State::kStuck;
    case Turn::kVacant:  // it ends now
    case Turn::kRunning:
      break;
  }
  return ActorInfo::State::kRunning;
}

// The generation of the actor that lives there; 0 when there is none.
std::uint32_t living(const Slot& slot) noexcept {
  const std::uint32_t generation = slot.generation.load(std::memory_order_acquire);
  if (!slot.lives.observe()) return 0;
  return slot.generation.load(std::memory_order_acquire) == generation ? generation : 0;
}

std::optional<std::size_t> core_of(const Slot& slot) noexcept {
  const std::uint16_t home = slot.home.load(std::memory_order_acquire);  // [pair slot.home]
  const Core* core = home < kMaxCores ? core_at(home) : nullptr;
  if (core == nullptr || core->solo || core->place == kNoCore) return std::nullopt;
  return core->place;
}

}  // namespace

std::vector<Pid> living_actors(Domain& domain) {
  std::vector<std::uint32_t> slots;
  {
    sync::Guard guard(domain.slots_lock());
    slots = domain.owned_slots();
  }
  std::vector<Pid> pids;
  for (const std::uint32_t index : slots) {
    if (const std::uint32_t generation = living(Slab::at(index)); generation != 0) {
      pids.emplace_back(index, generation);
    }
  }
  return pids;
}

}  // namespace core

std::string_view to_string(ActorInfo::State state) noexcept {
  switch (state) {
    case ActorInfo::State::kIdle:
      return "idle";
    case ActorInfo::State::kReady:
      return "ready";
    case ActorInfo::State::kRunning:
      return "running";
    case ActorInfo::State::kBlocked:
      return "blocked";
    case ActorInfo::State::kStuck:
      break;
  }
  return "stuck";
}

std::optional<ActorInfo> actor_info(Pid actor) noexcept {
  const core::Slot* slot = actor ? core::Slab::find(actor.index()) : nullptr;
  if (slot == nullptr || core::living(*slot) != actor.generation()) return std::nullopt;
  ActorInfo info{};
  info.pid = actor;
  info.type = slot->kind->name;
  info.parent = slot->parent;
  info.state = core::state_of(slot->turn);
  info.mailbox = slot->length;
  info.handled = slot->handled;
  info.core = core::core_of(*slot);
  if (core::living(*slot) != actor.generation()) return std::nullopt;
  return info;
}

std::vector<Pid> actors() {
  const core::Inside inside;
  const core::Core* core = core::Core::current();
  if (core == nullptr || core->running == nullptr) {
    throw std::logic_error("bulkhead: actors was called outside any actor: use Runtime::actors");
  }
  return core::living_actors(*core->domain.load(std::memory_order_relaxed));
}

std::vector<Pid> Host::actors() const { return core::living_actors(*domain_); }

}  // namespace bulkhead
