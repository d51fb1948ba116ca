// What isolated actors do by way of other threads, and what they would share with others: files and
// blocking() (B3, C8), static variables, locks (C7); and channels, join handles and scopes, which
// are refused.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/balance.hpp"
#include "support/log.hpp"
#include "support/on_cores.hpp"
#include "support/process.hpp"

namespace {

namespace io = bulkhead::io;
namespace this_actor = bulkhead::this_actor;
using bulkhead::SpawnOptions;
using namespace std::chrono_literals;

SpawnOptions isolated(SpawnOptions options = {}) {
  options.isolated.emplace();
  return options;
}

// What functions of isolated actors have found, which may capture nothing else.
std::atomic<bool> done = false;
std::atomic<int> found = 0;

class IsolatedSharing : public support::Running {
 protected:
  IsolatedSharing() {
    done = false;
    found = 0;
  }
  ~IsolatedSharing() override {
    runtime.shutdown(5s);
    EXPECT_EQ(bulkhead::heaps_live(), 0u);
    EXPECT_EQ(bulkhead::heap_bytes_used(), 0u);
    support::expect_balanced(runtime.stats());
  }
  template <class F>
  void run_isolated(F function) {
    runtime.spawn_with(isolated(on_core(1)), function);
    wait_for_idle();
  }
};

// --- blocking ------------------------------------------------------------------------------------

struct Double {
  std::string text;
  std::vector<std::string> operator()() { return {text, text}; }
};
struct Fails {
  int operator()() { throw std::runtime_error("the disk is full, and so is this line of text"); }
};
struct Lasts {
  std::string text;
  std::string operator()() {
    std::this_thread::sleep_for(20ms);
    return text + text;
  }
};

TEST_P(IsolatedSharing, what_blocks_is_given_what_crosses_and_gives_back_what_does) {
  run_isolated([] {
    const std::string text(1000, 'x');
    const std::size_t used = this_actor::heap_used();
    for (int i = 0; i < 10; ++i) {
      const auto both = bulkhead::blocking(Double{text});
      done = both.size() == 2 && both[1] == text;
    }
    found = this_actor::heap_used() == used ? 1 : 0;
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(found, 1);
}

TEST_P(IsolatedSharing, what_blocks_may_throw) {
  run_isolated([] {
    try {
      static_cast<void>(bulkhead::blocking(Fails{}));
    } catch (const std::runtime_error& error) {
      done = std::string(error.what()).starts_with("the disk");
    }
  });
  EXPECT_TRUE(done);
}

// The thread is at work in the process's memory when the actor's is discarded.
TEST_P(IsolatedSharing, what_blocks_may_outlast_who_waits) {
  for (int i = 0; i < 5; ++i) {
    const auto waits = runtime.spawn_with(isolated(on_core(1)), [] {
      ++found;
      static_cast<void>(bulkhead::blocking(Lasts{std::string(10'000, 'x')}));
    });
    ASSERT_TRUE(support::eventually([&] { return found == i + 1; }));
    bulkhead::request_stop(waits);
  }
  wait_for_idle();
  EXPECT_EQ(bulkhead::heaps_live(), 0u);
}

TEST_P(IsolatedSharing, what_blocks_does_not_hold_what_cannot_cross) {
  run_isolated([] {
    try {
      bulkhead::blocking([text = std::string(100, 'x')] { ++found; });
    } catch (const std::logic_error& error) {
      done = std::string(error.what()).find("cannot cross") != std::string::npos;
    }
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(found, 0);
}

// --- files ---------------------------------------------------------------------------------------

std::string a_path() {
  static std::atomic<int> next = 0;
  return std::filesystem::temp_directory_path() /
         ("bulkhead_isolated_" + std::to_string(getpid()) + "_" + std::to_string(next++));
}
std::string the_path;

TEST_P(IsolatedSharing, files_are_written_and_read) {
  the_path = a_path();
  run_isolated([] {
    const std::string text(100'000, 'x');
    auto file = io::File::open(the_path, io::Open::kCreate);
    if (!file || !file->write(text)) return;
    const auto back = file->read_at(0, 1'000'000);
    done = back && *back == text && file->size() == text.size() && file->sync().has_value() &&
           file->path() == the_path && file->close().has_value();
    const auto none = io::File::open(the_path + "/none");
    found = none.has_value() ? 0 : none.error().code;
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(found, ENOTDIR);
  std::filesystem::remove(the_path);
}

TEST_P(IsolatedSharing, files_are_closed_at_a_trap) {
  the_path = a_path();
  run_isolated([] {  // so that what the runtime opens once is open
    static_cast<void>(io::File::open(the_path, io::Open::kCreate));
  });
  const std::size_t before = support::open_descriptors();
  for (int i = 0; i < 10; ++i) {
    run_isolated([] {
      std::vector<io::File> files;
      for (int each = 0; each < 10; ++each) {
        auto file = io::File::open(the_path);
        if (file) files.push_back(std::move(*file));
      }
      files.pop_back();
      found += static_cast<int>(files.size());
      std::abort();
    });
  }
  EXPECT_EQ(found, 90);
  EXPECT_EQ(support::open_descriptors(), before);
  std::filesystem::remove(the_path);
}

// Handed over, they are closed by whoever has them last, if that is by a trap.
struct TakesFiles {
  bool receive(io::File given) {
    file = std::move(given);
    return file.write("by the second").has_value();
  }
  void receive(int /*message*/) { std::abort(); }
  io::File receive(bool /*back*/) { return std::move(file); }
  io::File file;
};

TEST_P(IsolatedSharing, files_are_handed_over) {
  the_path = a_path();
  SpawnOptions isolated;
  isolated.isolated.emplace();
  const auto taking = runtime.spawn_with<TakesFiles>(isolated);
  EXPECT_EQ(taking.ask(*io::File::open(the_path, io::Open::kCreate), support::kDeadline), true);
  const std::size_t open = support::open_descriptors();
  {
    auto back = taking.ask(true, support::kDeadline);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(support::open_descriptors(), open) << "it is the same one";
    EXPECT_EQ(*back->read_at(0, 100), "by the second");
    EXPECT_EQ(back->path(), the_path);
  }
  EXPECT_EQ(support::open_descriptors(), open - 1);
  EXPECT_EQ(taking.ask(*io::File::open(the_path, io::Open::kCreate), support::kDeadline), true);
  EXPECT_EQ(support::open_descriptors(), open);
  taking.send(1);
  wait_for_idle();
  EXPECT_EQ(support::open_descriptors(), open - 1);
  // From one that traps after it has sent it.
  struct Keeps {
    bool receive(io::File given) {
      file = std::move(given);
      return true;
    }
    std::string receive(int /*message*/) { return *file.read_at(0, 100); }
    io::File file;
  };
  const auto keeps = runtime.spawn<Keeps>();
  runtime.spawn_with(isolated, [keeps] {
    auto file = io::File::open(the_path, io::Open::kCreate);
    if (!file->write("to be kept") || keeps.send(std::move(*file)) != bulkhead::Delivery::kQueued) {
      return;
    }
    done = !file->is_open();
    std::abort();
  });
  wait_for_idle();
  EXPECT_TRUE(done);
  EXPECT_EQ(keeps.ask(1, support::kDeadline), "to be kept");
  bulkhead::stop(keeps);
  wait_for_idle();
  EXPECT_EQ(support::open_descriptors(), open - 1);
  std::filesystem::remove(the_path);
}

// --- static variables ----------------------------------------------------------------------------

const std::string& first_line() {
  static const std::string line = std::string(1000, 'x') + std::to_string(found);
  return line;
}

TEST_P(IsolatedSharing, static_variables_are_the_processs) {
  run_isolated([] { done = !first_line().empty(); });
  EXPECT_TRUE(done);
  run_isolated([] {  // in the memory that the first one had
    const std::vector<std::string> others(100, std::string(1000, 'y'));
    done = others.size() == 100;
  });
  EXPECT_EQ(bulkhead::heaps_live(), 0u);
  EXPECT_EQ(first_line().substr(0, 1000), std::string(1000, 'x'));
}

std::atomic<int> attempts = 0;
const std::string& line_that_traps_at_first() {
  static const std::string line = [] {
    std::string made(1000, 'x');
    if (++attempts % 2 == 1) std::abort();
    return made;
  }();
  return line;
}

// Who comes after that does not wait for it.
TEST_P(IsolatedSharing, a_static_variable_whose_maker_traps_is_made_by_the_next) {
  if (!bulkhead::has_heaps()) return;  // ThreadSanitizer has guards of its own
  if (attempts != 0) return;           // of an earlier run in this process
  run_isolated([] { static_cast<void>(line_that_traps_at_first()); });
  EXPECT_EQ(runtime.stats().actors_trapped, 1u);
  EXPECT_EQ(line_that_traps_at_first(), std::string(1000, 'x'));
  EXPECT_EQ(attempts, 2);
}

// --- locks ---------------------------------------------------------------------------------------

bulkhead::Mutex the_mutex;

// C7: it is let go when its holder dies.
TEST_P(IsolatedSharing, a_mutex_is_let_go_at_a_trap) {
  run_isolated([] {
    { const auto guard = the_mutex.lock(); }
    auto own = std::make_unique<bulkhead::Mutex>();
    const auto first = own->lock();
    const auto guard = the_mutex.lock();
    std::abort();
  });
  EXPECT_EQ(runtime.stats().actors_trapped, 1u);
  EXPECT_TRUE(the_mutex.try_lock().has_value());
}

// --- what is refused -----------------------------------------------------------------------------

template <class Error, class F>
void expect_refused(F function, const char* instead) {
  try {
    function();
  } catch (const Error& error) {
    if (std::string(error.what()).find(instead) != std::string::npos) ++found;
  }
}

bulkhead::Channel<std::string> the_channel;

TEST_P(IsolatedSharing, what_shares_memory_is_refused) {
  the_channel = bulkhead::make_channel<std::string>();
  ASSERT_TRUE(the_channel.sender.send("one").has_value());
  run_isolated([] {
    expect_refused<std::logic_error>([] { static_cast<void>(bulkhead::make_channel<int>()); },
                                     "send messages");
    expect_refused<std::logic_error>([] { static_cast<void>(the_channel.sender.send("two")); },
                                     "send messages");
    expect_refused<std::logic_error>([] { static_cast<void>(the_channel.receiver.recv()); },
                                     "send messages");
    expect_refused<std::logic_error>([] { const bulkhead::CancellationScope scope; }, "monitor");
    expect_refused<bulkhead::ConfigError>(
        [] { static_cast<void>(bulkhead::spawn_joinable([] { return 7; })); }, "monitor");
  });
  EXPECT_EQ(found, 5);
  EXPECT_EQ(the_channel.receiver.recv(), "one");
  the_channel = {};
}

}  // namespace

ON_ONE_AND_SEVERAL_CORES(IsolatedSharing);
