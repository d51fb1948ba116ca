// Ticks: the process's operator new (new.cpp) counts down, and every so often calls the core that
// runs on the thread. Off, the count never comes to its end.
#pragma once

#include <cstdint>

namespace bulkhead::memory {

struct Ticks {
  std::int64_t left = INT64_MAX;
  std::int64_t every = INT64_MAX;
  /// Called when none is left; sets them anew. May switch stacks and go on on another thread, and
  /// throws only when `may_throw`.
  void (*due)(bool may_throw) = nullptr;
};

extern constinit thread_local Ticks ticks [[gnu::tls_model("initial-exec")]];

/// Can allocations tick in this build? Not under sanitizers, whose operator new stays in place.
extern const bool kAllocationsTick;

}  // namespace bulkhead::memory
