#include "base/critical.hpp"

namespace bulkhead::base {

constinit thread_local const char* critical [[gnu::tls_model("initial-exec")]] = nullptr;

}  // namespace bulkhead::base
