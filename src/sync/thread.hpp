// Threads of the operating system, for who starts them: domains, and the pool for blocking work.
#pragma once

#include <thread>

namespace bulkhead::sync {

using Thread = std::thread;

}  // namespace bulkhead::sync
