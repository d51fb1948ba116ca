// Which traps cannot be contained, as others would wait for ever for what the actor leaves locked.
#pragma once

#include <span>

#include "core/core.hpp"
#include "machine/fault.hpp"

namespace bulkhead::core {

/// From now on it is known what there is to know for that: before there is any isolated actor. Once
/// per process.
void learn_what_can_be_contained() noexcept;

/// Of an isolated actor, whose code stands, or has called us, at these frames: null, or why its
/// trap is to end the process. Async-signal-safe.
[[nodiscard]] const char* why_not_contained(const Slot& actor,
                                            std::span<void* const> frames) noexcept;

}  // namespace bulkhead::core
