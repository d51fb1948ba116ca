/// Unwind: what the runtime throws through the frames of an actor that is to end.
#pragma once

#include <cstdint>

namespace bulkhead {

/// Thrown by a wait of an actor that was stopped, or whose runtime shuts down, so that the
/// destructors of its frames run. Not derived from std::exception, so that
/// `catch (const std::exception&)` lets it pass; whoever catches it must rethrow it.
///
/// In code that Clang compiles, a wait inside `try { } catch (...)` does not throw it, but returns
/// as in a destructor: there such a handler looks like the end of a function that is noexcept. Name
/// it, and it is thrown: `catch (const bulkhead::Unwind&) { throw; } catch (...) { ...; throw; }`.
struct Unwind {};

namespace core {

/// `catch (const Leaving&)`, in front of a `catch (...)` of the library's that throws again: nobody
/// throws it, but whoever asks for it notes where the exception was thrown (src/core/thrown.hpp).
class Leaving {
 public:
  virtual ~Leaving();  // never defined: its type_info is the library's

  Leaving() = delete;
};

/// What leaves a function by an exception.
enum class Leaves : std::uint8_t { kUnwind, kFailure };

/// What `function()` returns. If it throws, that goes on, and before, in the catch block,
/// `noticed(Leaves)` is called.
template <class Function, class Noticed>
[[gnu::always_inline]] inline decltype(auto) noticing(const Function& function,
                                                      const Noticed& noticed) {
  try {
    return function();
  } catch (const Unwind&) {  // named, or it might not be thrown
    noticed(Leaves::kUnwind);
    throw;
  } catch (const Leaving&) {  // never
    throw;
  } catch (...) {
    noticed(Leaves::kFailure);
    throw;
  }
}

}  // namespace core

}  // namespace bulkhead
