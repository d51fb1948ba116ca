// Static variables in functions, which isolated actors may be the first to need.
#pragma once

namespace bulkhead::core {

/// From now on those that an isolated actor initialises lie in the process's memory; if it traps
/// meanwhile, the next one who needs the variable initialises it. Once per process.
void keep_static_locals() noexcept;

}  // namespace bulkhead::core
