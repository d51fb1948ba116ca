// May an actor that is to end be unwound where it is?
#pragma once

namespace bulkhead::core {

/// Would Unwind, thrown by the caller, be caught? False when it would end the process: when a
/// destructor, or another function that is noexcept, is among the frames. Where the actor's code
/// does not tell such a function from a catch (...), false for both.
[[nodiscard]] bool may_throw_unwind(bool hides_noexcept);

}  // namespace bulkhead::core
