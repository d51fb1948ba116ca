// What an isolated actor has, or owes, that others know of: parcels, descriptors, answers, what it
// is making for others. Its objects, which would release all that, are gone when it traps; so there
// is a list of it outside of its memory.
//
// A belonging is a name, of something that is known elsewhere by a number that never comes again: a
// turn, a generation, an epoch. So one that is over already, since it was released, or handed over,
// is as nothing, and may stay in the list until somebody looks.
//
// Rules
//  W1  A list belongs to the code of its actor, and to who runs in its place when it starts or
//      ends. Whose is what the code of a thread makes is said by the thread (set_owner).
//  W2  While something leaves an actor, such as a message that it makes, what it is handed belongs
//      to that; until it has left altogether, also to the actor, which may trap in the middle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bulkhead::core {

struct Belonging {
  struct Ops {
    bool (*is_over)(const Belonging& each) noexcept;
    void (*release)(const Belonging& each) noexcept;
  };
  const Ops* ops;
  std::array<std::uint64_t, 3> what;
};

class Belongings {
 public:
  Belongings() = default;
  Belongings(const Belongings&) = delete;
  Belongings& operator=(const Belongings&) = delete;
  ~Belongings() { release_all(); }

  /// Throws std::bad_alloc, but for as many as were expected before.
  void add(const Belonging& belonging);
  /// Makes room for one more. Throws std::bad_alloc.
  void expect();
  /// The newest one of these ops that has this as its first number is none any more.
  void forget(const Belonging::Ops& ops, std::uint64_t first) noexcept;
  /// It, or null.
  [[nodiscard]] Belonging* find(const Belonging::Ops& ops, std::uint64_t first) noexcept;
  void release_all() noexcept;
  /// Of one that has none: takes over those of another one.
  void become(Belongings& other) noexcept { all_.swap(other.all_); }

  /// What is added from now on is forgotten at the end, which is given what this returns (W2).
  /// Nested stretches end in reverse order.
  [[nodiscard]] std::size_t begin_leaving() noexcept;
  void end_leaving(std::size_t before) noexcept;

  /// With some that are over.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  void prune() noexcept;

  std::vector<Belonging> all_;
  std::size_t prune_at_ = 16;
  std::size_t expected_ = 0;
  std::size_t leaving_ = 0;  // stretches that have begun: meanwhile nothing changes its place
};

/// Whose is, from now on, what the code of the calling thread makes, or is handed; null: nobody's
/// that is isolated. Returns who was it.
Belongings* set_owner(Belongings* owner) noexcept;
[[nodiscard]] Belongings* owner() noexcept;

extern constinit thread_local Belongings* tl_owner [[gnu::tls_model("initial-exec")]];

/// Is there an owner? Inlined, for whom there is none; who goes on asks for it anew, since to come
/// inside may be to change threads.
[[nodiscard]] inline bool may_have_owner() noexcept { return tl_owner != nullptr; }
void expect_of_owner();
void add_to_owner(const Belonging& belonging);
void forget_of_owner(const Belonging::Ops& ops, std::uint64_t first) noexcept;

/// For that owner, if there is one. Any thread. Both throw std::bad_alloc, but that none is added
/// that was expected.
inline void expect_belonging() {
  if (may_have_owner()) [[unlikely]]
    expect_of_owner();
}
inline void belongs_to_caller(const Belonging& belonging) {
  if (may_have_owner()) [[unlikely]]
    add_to_owner(belonging);
}
/// As Belongings::forget. Any thread.
inline void forget_of_caller(const Belonging::Ops& ops, std::uint64_t first) noexcept {
  if (may_have_owner()) [[unlikely]]
    forget_of_owner(ops, first);
}

}  // namespace bulkhead::core
