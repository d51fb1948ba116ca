// A24: bulk freeing in an actor, and an actor that holds the configuration of the process.
#include <gtest/gtest.h>
#include <bulkhead/bulkhead.hpp>

#include <array>
#include <atomic>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

#include "support/on_cores.hpp"

namespace {

namespace this_actor = bulkhead::this_actor;
using bulkhead::Address;

class Arenas : public support::Running {};
ON_ONE_AND_SEVERAL_CORES(Arenas);

// Counts what an arena takes from the process, and gives back.
class CountingResource : public std::pmr::memory_resource {
 public:
  [[nodiscard]] long held() const { return held_.load(); }
  [[nodiscard]] long taken() const { return taken_.load(); }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    held_ += static_cast<long>(bytes);
    ++taken_;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    held_ -= static_cast<long>(bytes);
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::atomic<long> held_{0};
  std::atomic<long> taken_{0};
};

// Works on an arena that is released after each message, all at once.
class Parser {
 public:
  explicit Parser(CountingResource* upstream) : upstream_(upstream) {}
  std::size_t receive(std::string text) {
    std::pmr::monotonic_buffer_resource arena(upstream_);
    std::pmr::map<std::pmr::string, int> words(&arena);
    std::size_t start = 0;
    while (start < text.size()) {
      const std::size_t end = std::min(text.find(' ', start), text.size());
      ++words[std::pmr::string(text.substr(start, end - start), &arena)];
      start = end + 1;
      this_actor::yield();
    }
    return words.size();
  }

 private:
  CountingResource* upstream_;
};

// A24
TEST_P(Arenas, are_freed_at_once_when_the_handler_is_done) {
  CountingResource upstream;
  const auto parser = runtime.spawn_with<Parser>(on_core(1), &upstream);
  std::string text;
  for (int i = 0; i < 500; ++i) text += "word" + std::to_string(i % 100) + " ";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(parser.ask(text, support::kDeadline), 100u);
    wait_for_idle();
    EXPECT_EQ(upstream.held(), 0);
  }
  EXPECT_GT(upstream.taken(), 0);
  EXPECT_LT(upstream.taken(), 20 * 40) << "not one by one";
}

// Keeps an arena for life; a failure frees it with everything in it.
class Hoarder {
 public:
  explicit Hoarder(CountingResource* upstream) : arena_(upstream), kept_(&arena_) {}
  void receive(int count) {
    for (int i = 0; i < count; ++i) kept_.emplace_back(100, 'x');
    if (count == 13) bulkhead::panic("bad luck");
  }

 private:
  std::pmr::monotonic_buffer_resource arena_;
  std::pmr::vector<std::pmr::string> kept_;
};

// A24
TEST_P(Arenas, of_an_actor_that_fails_are_freed) {
  CountingResource upstream;
  const auto hoarder = runtime.spawn_with<Hoarder>(on_core(1), &upstream);
  for (int i = 0; i < 10; ++i) hoarder.send(100);
  wait_for_idle();
  EXPECT_GT(upstream.held(), 100'000);
  hoarder.send(13);
  wait_for_idle();
  EXPECT_EQ(upstream.held(), 0);
}

// The configuration of a process: one actor, written to and read by messages.
class Configuration {
 public:
  struct Set {
    std::string key;
    std::string value;
  };
  struct Get {
    std::string key;
  };
  void receive(Set set) { values_[std::move(set.key)] = std::move(set.value); }
  std::string receive(Get get) { return values_[get.key]; }

 private:
  std::map<std::string, std::string> values_;
};

// A24
TEST_P(Arenas, the_configuration_of_the_process_is_an_actor) {
  const auto configuration = runtime.spawn<Configuration>();
  configuration.send(Configuration::Set{"colour", "green"});
  std::atomic<int> right{0};
  for (std::size_t i = 0; i < 20; ++i) {
    runtime.spawn_with(on_core(i), [configuration, i, &right] {
      const std::string key = "actor " + std::to_string(i);
      if (configuration.ask(Configuration::Get{"colour"}, support::kDeadline) == "green") ++right;
      configuration.send(Configuration::Set{key, std::to_string(i * i)});
      if (configuration.ask(Configuration::Get{key}, support::kDeadline) == std::to_string(i * i)) {
        ++right;
      }
    });
  }
  wait_for_idle();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(configuration.ask(Configuration::Get{"unknown"}, support::kDeadline), "");
}

}  // namespace
