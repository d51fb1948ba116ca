#include "stress/bond_world.hpp"

#include <chrono>
#include <limits>
#include <stdexcept>
#include <utility>

namespace stress::bonds {

namespace this_actor = bulkhead::this_actor;
using bulkhead::ChildSpec;
using bulkhead::ChildStart;
using bulkhead::Down;
using bulkhead::Exit;
using bulkhead::Exited;
using bulkhead::MonitorRef;
using bulkhead::NamedAddress;
using bulkhead::Pid;
using bulkhead::Restart;
using bulkhead::Shutdown;
using bulkhead::SpawnOptions;
using bulkhead::Strategy;
using bulkhead::SupervisorRef;
using bulkhead::SupervisorSpec;
using bulkhead::this_actor::Flush;
using support::Random;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kNames = 12;  // that members give each other

// Two of each kind.
constexpr std::array<const char*, 6> kIds{"permanent 0", "transient 0", "temporary 0",
                                          "permanent 1", "temporary 1", "transient 1"};

std::uint64_t key(MonitorRef monitor) {
  return std::uint64_t{monitor.generation()} << 32 | monitor.index();
}

bool is_known(const Exit& exit) {
  switch (exit.kind()) {
    case Exit::Kind::kNormal:
    case Exit::Kind::kShutdown:
    case Exit::Kind::kKilled:
    case Exit::Kind::kNoActor:
      return true;
    case Exit::Kind::kCustom:
      return exit.message() == "overboard";
    case Exit::Kind::kPanic:
      return exit.message() == "it failed";
    case Exit::Kind::kStopped:
    case Exit::Kind::kTrapped:
      break;
  }
  return false;
}

}  // namespace

// --- the world -----------------------------------------------------------------------------------

Pid World::any(Random& random) const {
  const std::uint64_t bits = known_[random.below(kKnown)].load();
  return Pid(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
}

void World::make_known(Pid pid, Random& random) {
  known_[random.below(kKnown)] = std::uint64_t{pid.generation()} << 32 | pid.index();
  const std::lock_guard guard(lock);
  living_.insert(pid);
}

void World::has_died(const bulkhead::Death& death) {
  const std::lock_guard guard(lock);
  living_.erase(death.actor);
  if (!is_known(death.exit)) unknown_reasons.insert(to_string(death.exit));
}

std::unordered_set<Pid> World::living() {
  const std::lock_guard guard(lock);
  return living_;
}

std::string World::any_name(Random& random) {
  return "member " + std::to_string(random.below(kNames));
}

Temper any_temper(Random& random) {
  if (!random.one_in(3)) return Temper::kPlain;
  return random.one_in(4) ? Temper::kStubborn : Temper::kTraps;
}

// --- a member ------------------------------------------------------------------------------------

Member::Member(World* world, std::uint64_t seed, Temper temper, Pid supervisor, std::string name)
    : world_(world),
      random_(seed),
      temper_(temper),
      supervisor_(supervisor),
      name_(std::move(name)) {
  ++(supervisor_ ? world_->children : world_->alive);
}

void Member::started() {
  if (temper_ != Temper::kPlain) this_actor::trap_exits(true);
  world_->make_known(this_actor::pid(), random_);
  if (supervisor_ && !world_->over) this_actor::address(this).send(Act{3});
}

void Member::receive(Act act) {
  for (int i = 0; i < act.times && !world_->over; ++i) do_something();
  if (world_->over) return;
  if (random_.one_in(30)) return this_actor::stop();
  if (random_.one_in(60)) throw std::runtime_error("it failed");
  if (random_.one_in(4)) this_actor::sleep_for(std::chrono::microseconds(random_.below(300)));
  this_actor::address(this).send(Act{3});
}

// Whoever sends this has found it by the name that its supervisor has given it, and nobody takes
// that away.
void Member::receive(Poke /*message*/) {
  if (bulkhead::name_of(this_actor::pid()) != name_) ++world_->wrong;
}

void Member::receive(Tell /*message*/) {
  Report report{this_actor::pid(), supervisor_, this_actor::links(), {}};
  for (const auto& [monitor, actor] : watched_) report.watched.push_back(actor);
  const std::lock_guard guard(world_->lock);
  world_->reports.push_back(std::move(report));
}

void Member::receive(const Down& down) {
  const auto watched = watched_.find(key(down.monitor));
  if (watched == watched_.end() || watched->second != down.actor) {
    ++world_->wrong;
    return;
  }
  watched_.erase(watched);
}

void Member::receive(const Exited& exited) {
  if (temper_ == Temper::kPlain) ++world_->wrong;
  if (!supervisor_ || exited.actor != supervisor_) return;
  const bool is_asked = exited.exit == Exit::shutdown();
  if (temper_ != Temper::kStubborn || !is_asked) this_actor::stop();
}

void Member::do_something() {
  const Pid other = world_->any(random_);
  switch (random_.below(15)) {
    case 0:
    case 1:
      this_actor::link(other);
      break;
    case 2:
      this_actor::unlink(other);
      break;
    case 3:
    case 4:
      watch(other);
      break;
    case 5:
    case 6:
      end_a_watch();
      break;
    case 7:
      if (random_.one_in(3)) static_cast<void>(bulkhead::exit(other, Exit::custom("overboard")));
      break;
    case 8:
      if (random_.one_in(10)) static_cast<void>(bulkhead::kill(other));
      break;
    case 9:
      static_cast<void>(bulkhead::exit(other, Exit::normal()));  // ends nobody but oneself
      break;
    case 10:
      if (world_->alive < kMost) make_another();
      break;
    case 11:
    case 12:
      give_or_take_a_name(other);
      break;
    case 13:
      if (world_->supervises) meet_a_supervisor();
      break;
    default:
      this_actor::yield();
      break;
  }
}

void Member::watch(Pid other) {
  if (other == this_actor::pid()) return;
  const MonitorRef monitor = this_actor::monitor(other);
  if (!watched_.emplace(key(monitor), other).second) ++world_->wrong;
}

void Member::end_a_watch() {
  if (watched_.empty()) return;
  auto watched = watched_.begin();
  std::advance(watched, random_.below(static_cast<std::uint32_t>(watched_.size())));
  const MonitorRef monitor(static_cast<std::uint32_t>(watched->first),
                           static_cast<std::uint32_t>(watched->first >> 32));
  const bool flush = random_.one_in(2);
  // Without flush, the message that it says is there is awaited.
  if (this_actor::demonitor(monitor, flush ? Flush::kYes : Flush::kNo) || flush) {
    watched_.erase(watched);
  }
}

void Member::make_another() {
  SpawnOptions options;
  MonitorRef monitor;
  if (random_.one_in(2)) options.core = random_.below(static_cast<std::uint32_t>(world_->cores));
  options.linked = random_.one_in(2);
  if (random_.one_in(2)) options.monitor = &monitor;
  const auto made =
      bulkhead::spawn_with<Member>(options, world_, random_.seed(), any_temper(random_));
  if (options.monitor != nullptr) watched_.emplace(key(monitor), made.pid());
  made.send(Act{3});
}

// A child has its name from its supervisor. (If another is faster, that ends the child: it has not
// been started as it should.)
void Member::give_or_take_a_name(Pid other) {
  const std::string name = World::any_name(random_);
  switch (random_.below(3)) {
    case 0:
      if (!supervisor_ && bulkhead::register_name(name, this_actor::pid())) ++world_->named;
      break;
    case 1:
      if (bulkhead::register_name(name, other)) ++world_->named;
      break;
    default:
      if (bulkhead::unregister_name(name)) ++world_->unnamed;
      break;
  }
}

void Member::meet_a_supervisor() {
  const std::string name = kSupervisors[random_.below(kSupervisors.size())];
  const Pid supervisor = bulkhead::whereis(name);
  switch (random_.below(8)) {
    case 0:
      if (!supervisor_) this_actor::link(supervisor);
      break;
    case 1:
      if (!supervisor_) this_actor::unlink(supervisor);
      break;
    case 2:
      watch(supervisor);
      break;
    case 3:
      // Does nothing; from its own child it would look like the end of that.
      if (supervisor != supervisor_) {
        static_cast<void>(bulkhead::exit(supervisor, Exit::custom("overboard")));
      }
      break;
    case 4:
      if (random_.one_in(20)) static_cast<void>(bulkhead::kill(supervisor));
      break;
    case 5:
    case 6:
      if (name != kSimple) {
        const std::string child = name_of_child(name, kIds[random_.below(kIds.size())]);
        if (NamedAddress<Member>(child).send(Poke{}) == bulkhead::Delivery::kQueued) {
          ++world_->found_by_name;
        }
      }
      break;
    default:
      call_a_supervisor();
      break;
  }
}

// A child may ask its own supervisor to end it.
void Member::call_a_supervisor() {
  const std::string name = kSupervisors[random_.below(kSupervisors.size())];
  const SupervisorRef supervisor(bulkhead::whereis(name));
  if (name == kSimple) {
    if (random_.one_in(3)) {
      static_cast<void>(supervisor.terminate_child(world_->any(random_)));
    } else if (world_->children < kMostChildren + 3 * kIds.size()) {
      static_cast<void>(supervisor.start_child(another_child(*world_)));
    }
    return;
  }
  const std::size_t number = random_.below(kIds.size());
  switch (random_.below(6)) {
    case 0:
      static_cast<void>(supervisor.terminate_child(kIds[number]));
      break;
    case 1:
      static_cast<void>(supervisor.terminate_child(world_->any(random_)));
      break;
    case 2:
      if (random_.one_in(4)) static_cast<void>(supervisor.delete_child(kIds[number]));
      break;
    case 3:
      static_cast<void>(supervisor.start_child(std::move(children_of(*world_, name)[number])));
      break;
    case 4:
      static_cast<void>(supervisor.count_children());
      break;
    default:
      static_cast<void>(supervisor.restart_child(kIds[number]));
      break;
  }
}

// --- supervisors ---------------------------------------------------------------------------------

namespace {

ChildStart start_child(World& world, const std::string& name) {
  Random random(world.seed());
  SpawnOptions options;
  options.linked = true;
  if (random.one_in(3)) options.core = random.below(static_cast<std::uint32_t>(world.cores));
  ++world.children_started;
  if (random.one_in(50)) throw std::runtime_error("it failed");
  return bulkhead::spawn_with<Member>(options, &world, random.seed(), any_temper(random),
                                      this_actor::pid(), name)
      .pid();
}

SupervisorSpec untiring() {
  SupervisorSpec spec;
  spec.intensity = std::numeric_limits<unsigned>::max();
  spec.period = 1ms;
  return spec;
}

SupervisorSpec supervisor(World& world, const std::string& name) {
  SupervisorSpec spec = untiring();
  spec.children = children_of(world, name);
  if (name == "one_for_all") spec.strategy = Strategy::kOneForAll;
  if (name == "rest_for_one") {
    spec.strategy = Strategy::kRestForOne;
    spec.backoff = bulkhead::Backoff{.least = 100us, .most = 1ms};
  }
  if (name == kSimple) {
    spec.strategy = Strategy::kSimpleOneForOne;
    spec.like.restart = Restart::kTransient;
    spec.like.shutdown = 2ms;
  }
  return spec;
}

}  // namespace

std::string name_of_child(const std::string& supervisor, const std::string& id) {
  return supervisor + ", " + id;
}

std::vector<ChildSpec> children_of(World& world, const std::string& supervisor) {
  std::vector<ChildSpec> specs;
  if (supervisor == kSimple) return specs;
  for (const char* const id : kIds) {
    ChildSpec spec;
    spec.id = id;
    spec.name = name_of_child(supervisor, id);
    spec.start = [&world, name = *spec.name] { return start_child(world, name); };
    if (spec.id.starts_with("transient")) spec.restart = Restart::kTransient;
    if (spec.id.starts_with("temporary")) spec.restart = Restart::kTemporary;
    spec.shutdown = spec.id.ends_with('0') ? Shutdown(2ms) : Shutdown::at_once();
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::function<ChildStart()> another_child(World& world) {
  return [&world] { return start_child(world, {}); };
}

SupervisorSpec tree(World& world) {
  SupervisorSpec root = untiring();
  for (const char* const name : kSupervisors) {
    ChildSpec child = bulkhead::child_supervisor(name, supervisor(world, name));
    child.name = name;
    root.children.push_back(std::move(child));
  }
  return root;
}

}  // namespace stress::bonds
