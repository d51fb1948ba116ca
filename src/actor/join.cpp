#include "bulkhead/join.hpp"

#include <stdexcept>

namespace bulkhead::core {

void refuse_join(bool joinable) {
  throw std::logic_error(joinable ? "bulkhead: an actor cannot join itself"
                                  : "bulkhead: join: the handle stands for no actor, or the actor "
                                    "was joined already");
}

}  // namespace bulkhead::core
