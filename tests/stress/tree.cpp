#include "stress/tree.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace stress::tree {

namespace this_actor = bulkhead::this_actor;
using bulkhead::ChildSpec;
using bulkhead::ChildStart;
using bulkhead::Exit;
using bulkhead::Pid;
using bulkhead::Restart;
using bulkhead::Strategy;
using bulkhead::SupervisorSpec;
using support::Random;
using namespace std::chrono_literals;

namespace {

constexpr std::array<Strategy, 3> kStrategies{Strategy::kOneForOne, Strategy::kOneForAll,
                                              Strategy::kRestForOne};

std::uint64_t word_of(Pid pid) { return std::uint64_t{pid.generation()} << 32 | pid.index(); }

}  // namespace

Pid pid_of(const std::atomic<std::uint64_t>& word) {
  const std::uint64_t bits = word;
  return Pid(static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32));
}

Restart restart_of(std::size_t leaf) {
  constexpr std::array<Restart, 3> kRestarts{Restart::kPermanent, Restart::kTransient,
                                             Restart::kTemporary};
  return kRestarts[leaf % 3];
}

// --- a leaf --------------------------------------------------------------------------------------

Leaf::Leaf(Tree* tree, Record* record, std::size_t number, Temper temper, bool fails)
    : tree_(tree), record_(record), number_(number), temper_(temper), fails_(fails) {
  ++tree_->alive;
  record_->life = Record::Life::kAlive;
}

Leaf::~Leaf() {
  const auto exit = this_actor::exit_reason();
  const bool in_order = exit && (exit->is_normal() || *exit == Exit::shutdown("done"));
  record_->life = in_order ? Record::Life::kEndedInOrder : Record::Life::kEnded;
  --tree_->alive;
}

void Leaf::started() {
  if (temper_ != Temper::kPlain) this_actor::trap_exits(true);
  if (fails_) throw std::runtime_error("at once");
}

void Leaf::receive(Fail /*message*/) { throw std::runtime_error("it was told to"); }
void Leaf::receive(End /*message*/) { this_actor::stop(); }
void Leaf::receive(EndInOrder /*message*/) { this_actor::stop(Exit::shutdown("done")); }

void Leaf::receive(const bulkhead::Exited& exited) {
  if (temper_ == Temper::kStubborn && exited.exit == Exit::shutdown()) return;
  this_actor::stop(exited.exit);
}

// --- its supervisor ------------------------------------------------------------------------------

Records& Twig::records(Pid supervisor) {
  const std::lock_guard guard(lock_);
  auto& records = by_supervisor_[supervisor];
  if (records == nullptr) records = std::make_unique<Records>();
  return *records;
}

const Records& Twig::only_records(Pid supervisor) {
  Records& records = this->records(supervisor);
  const std::lock_guard guard(lock_);
  std::erase_if(by_supervisor_, [&](const auto& entry) { return entry.first != supervisor; });
  return records;
}

namespace {

Leaf::Temper any_temper(Random& random) {
  if (random.one_in(200)) return Leaf::Temper::kStubborn;
  return random.one_in(4) ? Leaf::Temper::kTraps : Leaf::Temper::kPlain;
}

ChildStart start_leaf(Tree& tree, Twig& twig, std::size_t number) {
  Random random(tree.seeds++);
  if (tree.stormy && random.one_in(4000)) throw std::runtime_error("it does not start");
  const Pid supervisor = this_actor::pid();
  Record& record = twig.records(supervisor)[number];
  ++record.starts;
  bulkhead::SpawnOptions options;
  options.linked = true;
  if (random.one_in(4)) options.core = random.below(static_cast<std::uint32_t>(tree.cores));
  const bool fails = tree.stormy && random.one_in(4000);
  const Pid pid =
      bulkhead::spawn_with<Leaf>(options, &tree, &record, number, any_temper(random), fails).pid();
  record.pid = word_of(pid);
  twig.leaves[number] = word_of(pid);
  return pid;
}

// A supervisor whose pid is noted when it has started.
ChildSpec noted(std::string id, SupervisorSpec spec, std::atomic<std::uint64_t>& pid) {
  ChildSpec child = bulkhead::child_supervisor(std::move(id), std::move(spec));
  child.start = [start = std::move(child.start), &pid] {
    ChildStart started = start();
    if (started) pid = word_of(*started);
    return started;
  };
  return child;
}

SupervisorSpec twig_spec(Tree& tree, Twig& twig) {
  SupervisorSpec spec;
  for (std::size_t i = 0; i < kLeaves; ++i) {
    ChildSpec leaf;
    leaf.id = std::to_string(i);
    leaf.restart = restart_of(i);
    leaf.shutdown = 5ms;
    leaf.start = [&tree, &twig, i] { return start_leaf(tree, twig, i); };
    spec.children.push_back(std::move(leaf));
  }
  return spec;
}

}  // namespace

// --- all -----------------------------------------------------------------------------------------

SupervisorSpec Tree::spec(Patience patience) {
  SupervisorSpec root;
  root.intensity = std::numeric_limits<unsigned>::max();
  root.period = 1ms;
  for (std::size_t b = 0; b < kBranches; ++b) {
    SupervisorSpec branch;
    branch.strategy = kStrategies[b % kStrategies.size()];
    branch.intensity = patience.of_branches;
    branch.period = patience.period;
    for (std::size_t t = 0; t < kTwigs; ++t) {
      SupervisorSpec twig = twig_spec(*this, branches[b].twigs[t]);
      twig.strategy = kStrategies[(b + t) % kStrategies.size()];
      twig.intensity = patience.of_twigs;
      twig.period = patience.period;
      branch.children.push_back(
          noted(std::to_string(t), std::move(twig), branches[b].twigs[t].pid));
    }
    root.children.push_back(noted(std::to_string(b), std::move(branch), branches[b].pid));
  }
  return root;
}

void Tree::has_died(const bulkhead::Death& death) {
  if (death.exit.message() != "too many restarts") return;
  const std::lock_guard guard(lock_);
  given_up_.insert(death.actor);
}

bool Tree::has_given_up(Pid supervisor) {
  const std::lock_guard guard(lock_);
  return given_up_.contains(supervisor);
}

std::size_t Tree::given_up() {
  const std::lock_guard guard(lock_);
  return given_up_.size();
}

}  // namespace stress::tree
