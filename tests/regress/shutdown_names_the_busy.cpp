// A18: a shutdown without patience also names those who are in a handler. What was wrong: it
// waited for them without a word, since the core that would have named them was busy.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <string>
#include <thread>

#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;

class Busy {
 public:
  explicit Busy(support::Event* begun) : begun_(begun) {}
  void receive(int milliseconds) {
    begun_->set();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }

 private:
  support::Event* begun_;
};

class ShutdownNamesTheBusy : public support::Running {
 protected:
  std::string shutdown_during_a_handler(const bulkhead::SpawnOptions& options) {
    support::Event begun;
    const auto busy = runtime.spawn_with<Busy>(options, &begun);
    pid = to_string(busy.pid());
    busy.send(500);
    EXPECT_TRUE(begun.wait());
    return support::stderr_of([this] { runtime.shutdown(1ms); });
  }

  std::string pid;
};
ON_ONE_AND_SEVERAL_CORES(ShutdownNamesTheBusy);

TEST_P(ShutdownNamesTheBusy, on_a_core) {
  const std::string said = shutdown_during_a_handler(on_core(1));
  EXPECT_NE(said.find("actor " + pid), std::string::npos) << said;
  EXPECT_NE(said.find("Busy"), std::string::npos) << said;
}

TEST_P(ShutdownNamesTheBusy, with_a_thread_of_its_own) {
  bulkhead::SpawnOptions options;
  options.own_thread = true;
  const std::string said = shutdown_during_a_handler(options);
  EXPECT_NE(said.find("actor " + pid), std::string::npos) << said;
  EXPECT_NE(said.find("Busy"), std::string::npos) << said;
}

}  // namespace
