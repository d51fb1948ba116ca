#include "bulkhead/registry.hpp"

#include <stdexcept>
#include <string>

#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/names.hpp"

namespace bulkhead {

namespace core {

namespace {

[[noreturn, gnu::cold]] void refuse_name(std::string_view name) {
  if (name.empty()) {
    throw std::invalid_argument(
        "bulkhead: the name of an actor is empty; it must have 1 to 255 bytes");
  }
  throw std::invalid_argument("bulkhead: the name of an actor has " + std::to_string(name.size()) +
                              " bytes, beginning with \"" + std::string(name.substr(0, 32)) +
                              "\"; it must have 1 to 255");
}

void check(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) [[unlikely]]
    refuse_name(name);
}

[[noreturn, gnu::cold]] void refuse_outside(const char* function) {
  throw std::logic_error(std::string("bulkhead: ") + function +
                         " was called outside any actor, where it is not known in which runtime; "
                         "threads outside use the functions of Runtime");
}

[[noreturn, gnu::cold]] void refuse_class(std::string_view name, const Names::Holder& holder,
                                          const ActorClass& wanted) {
  throw std::logic_error("bulkhead: \"" + std::string(name) + "\" is the name of " +
                         to_string(holder.pid) + ", an actor of class " +
                         std::string(holder.kind->name) + "; it was looked up as one of class " +
                         std::string(wanted.name));
}

// A class has one object for each module of a program.
bool is_of(const ActorClass* kind, const ActorClass& wanted) noexcept {
  return kind == &wanted || kind->name == wanted.name;
}

const std::shared_ptr<Names>& names_for(const Core* core, const Domain* domain,
                                        const char* function) {
  if (domain != nullptr) return domain->names();
  if (core == nullptr) [[unlikely]]
    refuse_outside(function);
  return core->domain.load(std::memory_order_relaxed)->names();
}

// Can nobody have a name there?
bool is_void(const Core* core, const Names& names) noexcept {
  return core == nullptr && names.left_behind();
}

Names::Holder look_up(Core* core, Names& names, std::string_view name, std::uint64_t hash) {
  if (core != nullptr && core->domain.load(std::memory_order_relaxed)->names().get() == &names)
      [[likely]] {
    return names.look_up(*core, name, hash);
  }
  if (is_void(core, names)) return {};
  return names.find(name, hash);
}

Names::Holder look_up(Core* core, const Domain* domain, std::string_view name) {
  check(name);
  return look_up(core, *names_for(core, domain, "whereis"), name, Names::hash_of(name));
}

}  // namespace

std::expected<void, RegisterError> register_name(Domain* domain, std::string_view name, Pid actor) {
  const BrieflyInside inside;
  check(name);
  Names& names = *names_for(inside.core(), domain, "register_name");
  if (is_void(inside.core(), names)) {
    return std::unexpected(RegisterError{RegisterError::kNoActor});
  }
  return names.give(name, actor);
}

bool unregister_name(Domain* domain, std::string_view name, Pid actor) {
  const BrieflyInside inside;
  check(name);
  Names& names = *names_for(inside.core(), domain, "unregister_name");
  return !is_void(inside.core(), names) && names.take_away(name, actor);
}

Pid whereis(Domain* domain, std::string_view name) {
  const BrieflyInside inside;
  return look_up(inside.core(), domain, name).pid;
}

Pid whereis(Domain* domain, std::string_view name, const ActorClass& kind) {
  const BrieflyInside inside;
  const Names::Holder holder = look_up(inside.core(), domain, name);
  if (holder.pid && !is_of(holder.kind, kind)) [[unlikely]]
    refuse_class(name, holder, kind);
  return holder.pid;
}

std::string name_of(Domain* domain, Pid actor) {
  const BrieflyInside inside;
  Names& names = *names_for(inside.core(), domain, "name_of");
  return is_void(inside.core(), names) ? std::string() : names.name_of(actor);
}

std::vector<std::string> registered(Domain* domain) {
  const BrieflyInside inside;
  Names& names = *names_for(inside.core(), domain, "registered");
  return is_void(inside.core(), names) ? std::vector<std::string>() : names.all();
}

std::shared_ptr<const BoundName> bind_name(Domain* domain, std::string_view name) {
  const BrieflyInside inside;
  check(name);
  return std::make_shared<const BoundName>(BoundName{
      names_for(inside.core(), domain, "NamedAddress"), std::string(name), Names::hash_of(name)});
}

Pid resolve(const BoundName* bound, const ActorClass& kind) {
  if (bound == nullptr) return {};
  const BrieflyInside inside;
  const Names::Holder holder = look_up(inside.core(), *bound->names, bound->name, bound->hash);
  if (holder.pid && !is_of(holder.kind, kind)) [[unlikely]]
    refuse_class(bound->name, holder, kind);
  return holder.pid;
}

}  // namespace core

std::string to_string(const RegisterError& error) {
  switch (error.kind) {
    case RegisterError::kTaken:
      return "the name is that of " + to_string(error.holder);
    case RegisterError::kNoActor:
      return "there is no such actor in this runtime";
    case RegisterError::kNamed:
      return "the actor has a name already";
  }
  return "unknown";
}

std::expected<void, RegisterError> register_name(std::string_view name, Pid actor) {
  return core::register_name(nullptr, name, actor);
}

bool unregister_name(std::string_view name, Pid actor) {
  return core::unregister_name(nullptr, name, actor);
}

Pid whereis(std::string_view name) { return core::whereis(nullptr, name); }

std::string name_of(Pid actor) { return core::name_of(nullptr, actor); }

std::vector<std::string> registered() { return core::registered(nullptr); }

}  // namespace bulkhead
