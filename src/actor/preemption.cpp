#include "bulkhead/preemption.hpp"

#include <utility>

#include "base/critical.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"

namespace bulkhead {

void check() { core::Core::check(); }

// Inside, so that its core does not go on without it either.
NoPreempt::NoPreempt() noexcept : was_inside_(core::was_inside()) {
  static_cast<void>(core::come_inside());
  outer_ = std::exchange(base::critical, "an actor must not block inside NoPreempt");
}

NoPreempt::~NoPreempt() {
  base::critical = outer_;
  core::go_back(was_inside_);
}

}  // namespace bulkhead
