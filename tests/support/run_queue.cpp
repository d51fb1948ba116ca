#include "support/run_queue.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace support {

bulkhead::RunQueue run_queue() {
  using bulkhead::RunQueue;
  const char* text = std::getenv("BULKHEAD_TEST_RUN_QUEUE");
  const std::string_view name(text != nullptr ? text : "");
  if (name.empty() || name == "partitioned") return RunQueue::kPartitioned;
  if (name == "mutex") return RunQueue::kMutex;
  if (name == "ring") return RunQueue::kRing;
  if (name == "striped") return RunQueue::kStriped;
  if (name == "rounds") return RunQueue::kRounds;
  throw std::runtime_error("BULKHEAD_TEST_RUN_QUEUE is " + std::string(name) +
                           "; it must be partitioned, mutex, ring, striped or rounds");
}

}  // namespace support
