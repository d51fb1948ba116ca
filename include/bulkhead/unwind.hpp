/// Unwind: what the runtime throws through the frames of an actor that is to end.
#pragma once

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

}  // namespace core

}  // namespace bulkhead
