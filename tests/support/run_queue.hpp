/// The queue of ready actors that the tests run with: all behaviours must hold with each.
#pragma once

#include <bulkhead/bulkhead.hpp>

namespace support {

/// As the environment's BULKHEAD_TEST_RUN_QUEUE says: partitioned, mutex, ring, striped or rounds.
/// Default: partitioned.
[[nodiscard]] bulkhead::RunQueue run_queue();

}  // namespace support
