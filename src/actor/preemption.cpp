#include "bulkhead/preemption.hpp"

#include "base/critical.hpp"
#include "core/core.hpp"

namespace bulkhead {

void check() { core::Core::check(); }

NoPreempt::NoPreempt() noexcept : outer_(base::critical) {
  base::critical = "an actor must not block inside NoPreempt";
}

NoPreempt::~NoPreempt() { base::critical = outer_; }

}  // namespace bulkhead
