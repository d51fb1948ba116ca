/// Pid: the identity of an actor.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace bulkhead {

/// The identity of one incarnation of an actor: a small value, to be copied and kept at will. It
/// never comes to mean another actor: when the actor has ended, whatever is sent to it is dropped
/// and counted. A default-constructed Pid means no actor.
class Pid {
 public:
  constexpr Pid() = default;
  constexpr Pid(std::uint32_t index, std::uint32_t generation) noexcept
      : index_(index), generation_(generation) {}

  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return generation_; }
  constexpr explicit operator bool() const noexcept { return generation_ != 0; }

  friend constexpr bool operator==(Pid, Pid) = default;
  friend constexpr std::strong_ordering operator<=>(Pid, Pid) = default;

 private:
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;
};

/// "<index.generation>", or "<none>".
[[nodiscard]] std::string to_string(Pid pid);

}  // namespace bulkhead

template <>
struct std::hash<bulkhead::Pid> {
  std::size_t operator()(bulkhead::Pid pid) const noexcept {
    const std::uint64_t bits = std::uint64_t{pid.generation()} << 32 | pid.index();
    return static_cast<std::size_t>((bits ^ (bits >> 29)) * 0x9e3779b97f4a7c15u);
  }
};
