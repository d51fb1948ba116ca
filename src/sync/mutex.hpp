// The lock for what is rare: process-wide stores, start and stop. Never on the path of a message.
#pragma once

#include <condition_variable>
#include <mutex>

namespace bulkhead::sync {

using Mutex = std::mutex;
using Guard = std::lock_guard<std::mutex>;
using UniqueGuard = std::unique_lock<std::mutex>;
using Condition = std::condition_variable;

}  // namespace bulkhead::sync
