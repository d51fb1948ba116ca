// errno, for code that may go on in another thread: it belongs to the thread, and its address is
// taken to be constant within a function.
#pragma once

namespace bulkhead::base {

[[nodiscard]] int read_errno() noexcept;
void write_errno(int error) noexcept;

}  // namespace bulkhead::base
