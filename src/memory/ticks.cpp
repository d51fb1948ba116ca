#include "memory/ticks.hpp"

namespace bulkhead::memory {

constinit thread_local Ticks ticks [[gnu::tls_model("initial-exec")]];

}  // namespace bulkhead::memory
