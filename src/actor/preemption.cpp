#include "bulkhead/preemption.hpp"

#include "base/critical.hpp"
#include "core/core.hpp"
#include "core/inside.hpp"

namespace bulkhead {

void check() { core::Core::check(); }

// Inside, so that its core does not go on without it either. (To come inside may be to change
// threads.)
NoPreempt::NoPreempt() noexcept : was_inside_(core::was_inside()) {
  static_cast<void>(core::come_inside());
  outer_ = base::set_critical("an actor must not block inside NoPreempt");
}

NoPreempt::~NoPreempt() {
  base::critical = outer_;
  core::go_back(was_inside_);
}

}  // namespace bulkhead
