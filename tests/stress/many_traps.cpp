// B3, B15, D2: one trap after the other, of all kinds, each of an actor that has parcels, files,
// messages and exceptions under way: memory, mappings, descriptors and threads stay as they are.
// `./dev check soak` has a million of them, by BULKHEAD_TRAPS.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/balance.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"
#include "support/trap_cases.hpp"

namespace {

using bulkhead::Down;
using bulkhead::Mailbox;
using bulkhead::Parcel;
using bulkhead::SpawnOptions;
using support::kCases;
using support::TrapCase;

using Fault = void (*)();

struct Fail {
  Fault fault;
  bool holds_a_file;
};
struct Image {
  std::string name;
  Parcel<std::byte> pixels;
};
struct Ask {
  using Answer = std::string;
};

struct FaultsAtItsEnd {
  Fault fault;
  ~FaultsAtItsEnd() { fault(); }
};

class Worker {
 public:
  void receive(Image message) { images_.push_back(std::move(message)); }
  std::string receive(Ask /*message*/) { return images_.front().name; }
  void receive(Fail message) {
    const Parcel<std::byte> another(5000);
    const auto file = message.holds_a_file ? bulkhead::io::File::open("/dev/null")
                                           : bulkhead::io::Result<bulkhead::io::File>();
    try {
      throw std::runtime_error(std::string(500, 'x'));
    } catch (const std::exception&) {
      const FaultsAtItsEnd at_the_end{message.fault};
      throw std::logic_error(std::string(500, 'y'));
    }
  }

 private:
  std::vector<Image> images_;
};

struct Size {
  std::size_t resident = support::resident_bytes();
  std::size_t mappings = support::mappings();
  std::size_t descriptors = support::open_descriptors();
};

constexpr std::size_t kUsual = 20'000 / support::kMemoryFactor;

std::size_t wanted() {
  const char* asked = std::getenv("BULKHEAD_TRAPS");
  return asked != nullptr ? std::strtoul(asked, nullptr, 10) : kUsual;
}

std::vector<Fault> faults() {
  std::vector<Fault> all;
  for (const TrapCase& each : kCases) {
    if (each.kind == bulkhead::TrapKind::kMemory) continue;  // it throws, out of a destructor
    if (each.fault == &support::call_pure) continue;         // the standard library prints
    all.push_back(each.fault);
  }
  return all;
}

class ManyTraps : public support::Running {
 protected:
  void trap(std::size_t count) {
    static const std::vector<Fault> all = faults();
    std::atomic<std::size_t> ended{0};
    // (ThreadSanitizer takes two faults at one address for a race.)
    const std::size_t makers = bulkhead::has_heaps() ? cores() : 1;
    const std::size_t each = count / makers;
    for (std::size_t core = 0; core < makers; ++core) {
      runtime.spawn_with<Mailbox<Down>>(on_core(core), [&, core](Mailbox<Down>& mailbox) {
        for (std::size_t i = 0; i < each; ++i) {
          bulkhead::MonitorRef monitor;
          SpawnOptions options = on_core(core + i % 2);
          options.isolated.emplace();
          options.monitor = &monitor;
          const auto worker = bulkhead::spawn_with<Worker>(options);
          worker.send(Image{std::string(100, 'x'), Parcel<std::byte>(5000)});
          worker.send(Fail{all[(core + i) % all.size()], i % 64 == 0});
          worker.send(Image{std::string(100, 'y'), Parcel<std::byte>(5000)});
          if (!mailbox.next<Down>().exit.is_normal()) ++ended;
        }
      });
    }
    ASSERT_TRUE(runtime.wait_for_idle(std::chrono::minutes(10)));
    EXPECT_EQ(ended, each * makers);
  }
};

TEST_P(ManyTraps, leave_nothing) {
  trap(kUsual);  // each core has got what it keeps
  const Size before;
  trap(wanted());
  const Size after;
  RecordProperty("resident_bytes_before", std::to_string(before.resident));
  RecordProperty("resident_bytes_after", std::to_string(after.resident));
  EXPECT_EQ(bulkhead::heaps_live(), 0u);
  EXPECT_LE(after.descriptors, before.descriptors);
  if constexpr (support::kMemoryFactor == 1) {  // sanitizers keep what is lost
    EXPECT_LE(after.mappings, before.mappings + 32);  // of what cores keep; not of each trap
    // What cores keep for the next ones grows for long, by less and less.
    EXPECT_LE(after.resident, before.resident + (std::size_t{6} << 20));
  }
  support::expect_balanced(runtime.stats());
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(ManyTraps);
