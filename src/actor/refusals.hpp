// What the functions of Runtime and Stage have in common.
#pragma once

#include <optional>

#include "bulkhead/config.hpp"
#include "core/domain.hpp"

namespace bulkhead {

/// Throws std::logic_error in an actor.
void refuse_in_actor(const char* function,
                     const char* why = "it would wait for itself; leave it to a thread outside");
/// Throws std::logic_error in a child of the process that runs the domain.
void refuse_in_fork(const core::Domain& domain, const char* function);

/// The settings, with what the environment says. Throws ConfigError.
[[nodiscard]] Config checked(const Config& config);
/// Throws ConfigError.
void check_trace(const Config& config);
/// What BULKHEAD_TRACE asks for, of the runtime that starts now.
[[nodiscard]] std::optional<TraceSettings> trace_from_environment();

}  // namespace bulkhead
