/// The wall around isolated actors, as the typed shells need it: see crossable.hpp for what gets
/// over it. Users do not need this header.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/cross.hpp"
#include "bulkhead/type_name.hpp"

namespace bulkhead::core {

struct Compartment;
struct NewActor;

/// With all that is in it; null: without effect.
void discard_heap(void* heap) noexcept;

/// A heap of nobody's. If an isolated actor that fills it traps meanwhile, nothing of it is left.
class MessageHeap {
 public:
  /// Throws std::bad_alloc.
  MessageHeap();
  MessageHeap(const MessageHeap&) = delete;
  MessageHeap& operator=(const MessageHeap&) = delete;
  ~MessageHeap() { discard_heap(release()); }

  /// Null where there are no heaps.
  [[nodiscard]] void* get() const noexcept { return heap_; }
  [[nodiscard]] void* release() noexcept;

 private:
  void* heap_;
};

/// While something crosses: which memory is current. The user's code may run, and fail; nothing
/// switches stacks.
class OverWall {
 public:
  enum class Way : bool { kOut, kIn };
  /// Between the calling actor's memory and that of a heap, or, if that is null, the process's.
  OverWall(Way way, void* heap) noexcept;
  /// Into the memory of an actor that the caller makes. Throws std::bad_alloc.
  explicit OverWall(const NewActor& actor);
  /// Into that of an actor, from a heap, or, if that is null, from the process's.
  OverWall(Compartment& to, void* from) noexcept;
  OverWall(const OverWall&) = delete;
  OverWall& operator=(const OverWall&) = delete;
  ~OverWall();

 private:
  struct Scope;
  alignas(void*) std::byte scope_[88];
};

/// Is the calling code an isolated actor's?
[[nodiscard]] bool in_compartment() noexcept;

/// Throws std::logic_error: what is of this type cannot cross.
[[noreturn]] void refuse_to_cross(std::string_view type);

/// Makes what crosses anew, in the memory that is current.
template <class T>
[[nodiscard]] T over_wall(T& value) {
  if constexpr (!Crossable<T> || !std::is_nothrow_move_constructible_v<T>) {
    refuse_to_cross(type_name<T>());
  } else {
    return bulkhead::cross(std::move(value));
  }
}

}  // namespace bulkhead::core
