#include "memory/current_heap.hpp"

namespace bulkhead::memory {

constinit thread_local CurrentHeap current_heap [[gnu::tls_model("initial-exec")]] = {};

}  // namespace bulkhead::memory
