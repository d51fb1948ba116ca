// What std::stop_tokens are told by.
#pragma once

#include <stop_token>

namespace bulkhead::sync {

using StopSource = std::stop_source;

}  // namespace bulkhead::sync
