// What is said when an actor faults.
#pragma once

namespace bulkhead::core {

/// From now on, a fault in an actor is told on stderr, with the actor's pid and class, before it
/// takes its course. Once per process.
void report_faults();

}  // namespace bulkhead::core
