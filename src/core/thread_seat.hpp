// What the runtime keeps in each thread.
#pragma once

#include "core/slot.hpp"
#include "sync/seat.hpp"

namespace bulkhead::core {

class Core;
struct Worker;

struct ThreadSeat {
  sync::Seat<RealSync, Core> at;
  Worker* worker = nullptr;  // null in threads outside
};

extern constinit thread_local ThreadSeat tl_seat [[gnu::tls_model("initial-exec")]];

}  // namespace bulkhead::core
