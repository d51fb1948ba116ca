/// What isolated actors are given: SpawnOptions::isolated. See docs/guide/compartments.md.
#pragma once

#include <cstddef>

namespace bulkhead {

/// Heaps of isolated actors that live, and of their messages on the way, in the process. All three
/// are exact when nothing of it runs, and else of about now. Any thread.
[[nodiscard]] std::size_t heaps_live() noexcept;
/// Of the blocks in them that are in use, with what each costs: rounded up to a size that heaps
/// have.
[[nodiscard]] std::size_t heap_bytes_used() noexcept;
/// Of the pages that they have in memory, at most, and of what is known of them.
[[nodiscard]] std::size_t heap_bytes_committed() noexcept;

/// Can an actor be isolated here: does this build contain faults, and does its `new` know of heaps?
/// Under AddressSanitizer and ThreadSanitizer it does not: faults are contained, but what an actor
/// that has trapped had allocated is lost.
[[nodiscard]] bool has_heaps() noexcept;

namespace this_actor {

/// What the calling actor has in use of its heap, and may have, in bytes. Throws std::logic_error
/// when it is not isolated.
[[nodiscard]] std::size_t heap_used();
[[nodiscard]] std::size_t heap_limit();

}  // namespace this_actor
}  // namespace bulkhead
