// What a message may carry, decided at compile time. What is said when it may not is checked by
// tests/compile_fail/sendable_*.cpp.
#include "bulkhead/message.hpp"

#include <gtest/gtest.h>

#include <any>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "bulkhead/pid.hpp"

// A type that says of itself that it stays, and one that says that it goes.

class Socket {
 public:
  Socket() = default;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

struct Interned {
  char const* text;
};

template <class T>
class Slice {
 public:
  Slice() = default;
  [[nodiscard]] T* begin() const { return begin_; }

 private:
  T* begin_ = nullptr;
};

template <>
inline constexpr bool bulkhead::kSendable<Socket> = false;
template <>
inline constexpr bool bulkhead::kSendable<Interned> = true;
template <class T>
inline constexpr bool bulkhead::kSendable<Slice<T>> = std::is_const_v<T>;

// A type that says itself what structured bindings find in it.

struct Celsius {
  double degrees;
  double error;
};

template <>
struct std::tuple_size<Celsius> : std::integral_constant<std::size_t, 1> {};

namespace {

using bulkhead::kSendable;
using bulkhead::Sendable;
namespace members = bulkhead::members;

template <class... T>
constexpr bool kAllSendable = (Sendable<T> && ...);
template <class... T>
constexpr bool kNoneSendable = !(Sendable<T> || ...);

struct Stop {};

enum class Color : std::uint8_t { kRed, kGreen };

// Aggregates of members of any type, arrays and references among them.

template <class A>
struct One {
  A a;
};

template <class A, class B>
struct Two {
  A a;
  B b;
};

template <class A, class B, class C>
struct Three {
  A a;
  B b;
  C c;
};

template <class A, class B, class C, class D>
struct Four {
  A a;
  B b;
  C c;
  D d;
};

/// Cannot be made from nothing.
struct Money {
  explicit Money(std::int64_t amount) : cents(amount) {}
  std::int64_t cents;
};

// --- A11: payloads move ---

using MoveOnly = Two<std::unique_ptr<int>, std::vector<std::unique_ptr<std::string>>>;

TEST(MoveOnlyMessages, may_be_sent_A11) {
  static_assert(kAllSendable<std::unique_ptr<int>, std::unique_ptr<int[]>,
                             std::vector<std::unique_ptr<int>>, MoveOnly>);
  static_assert(!std::is_copy_constructible_v<MoveOnly>);
  static_assert(Sendable<std::optional<MoveOnly>>);
  static_assert(Sendable<std::thread>);
}

TEST(MoveOnlyMessages, keep_their_payload_in_place_when_they_are_moved_A11) {
  MoveOnly sent{.a = std::make_unique<int>(1), .b = {}};
  sent.b.push_back(std::make_unique<std::string>("text"));
  int const* const owned = sent.a.get();
  auto const* const many = sent.b.data();
  const MoveOnly received = std::move(sent);
  EXPECT_EQ(received.a.get(), owned);
  EXPECT_EQ(received.b.data(), many);
}

struct PoolDeleter {
  std::vector<int*>* pool;
  void operator()(int* number) const { pool->push_back(number); }
};

TEST(MoveOnlyMessages, may_have_deleters_that_refer_to_nothing_of_the_senders_A11_D4) {
  static_assert(Sendable<std::unique_ptr<int, std::default_delete<int>>>);
  static_assert(Sendable<std::unique_ptr<int, void (*)(int*)>>);
  static_assert(!Sendable<std::unique_ptr<int, PoolDeleter>>);
}

using Guarded = Two<int, std::mutex>;

struct Immovable : std::mutex {};

TEST(ImmovableTypes, are_refused_A11) {
  static_assert(kNoneSendable<std::mutex, std::atomic<int>, Guarded, Immovable,
                              std::array<std::mutex, 2>, One<std::unique_ptr<int> const>>);
}

TEST(ImmovableTypes, may_be_sent_by_their_owner_A11) {
  static_assert(kAllSendable<std::unique_ptr<Guarded>, std::vector<std::unique_ptr<Immovable>>,
                             std::shared_ptr<Immovable const>>);
}

struct ThrowsWhenDestroyed {
  int value;
  ~ThrowsWhenDestroyed() noexcept(false) {}  // NOLINT
};

class Undestroyable {
  ~Undestroyable() = default;
};

struct Shape {
  virtual ~Shape() = default;
  virtual double area() const = 0;
};

TEST(Messages, are_destroyed_without_throwing_A11) {
  static_assert(!Sendable<ThrowsWhenDestroyed>);
  static_assert(!Sendable<Undestroyable>);
}

TEST(Messages, are_objects_of_a_known_type_A11) {
  struct Declared;
  static_assert(kNoneSendable<Declared, Shape, void, void(), int[3], int&, int&&, int const&>);
  static_assert(Sendable<std::unique_ptr<Shape>>);
}

template <std::size_t N>
struct alignas(N) Aligned {
  std::byte bytes[N];
};

TEST(Messages, are_aligned_to_a_cache_line_at_most) {
  static_assert(Sendable<Aligned<64>>);
  static_assert(!Sendable<Aligned<128>>);
}

// --- D4: what is in them ---

TEST(Values, may_be_sent_D4) {
  static_assert(kAllSendable<int, bool const, long double, Color, std::byte, std::nullptr_t, Stop,
                             Money, bulkhead::Pid, std::string, std::chrono::nanoseconds,
                             std::chrono::steady_clock::time_point>);
}

TEST(Pointers, are_refused_D4) {
  static_assert(kNoneSendable<int*, int const*, int* const, int**, void*, void const*, char const*,
                              Stop*, int Money::*, void (Money::*)()>);
}

TEST(PointersToFunctions, may_be_sent_D4) {
  static_assert(
      kAllSendable<void (*)(), int (*)(int*, char const*) noexcept, int (*)(char const*, ...)>);
}

TEST(Volatile, is_refused_D4) {
  static_assert(!Sendable<int volatile>);
  static_assert(!Sendable<One<int volatile>>);
}

TEST(Views, are_refused_D4) {
  static_assert(
      kNoneSendable<std::string_view, std::u8string_view, std::span<int>, std::span<int const, 4>,
                    std::reference_wrapper<int>, std::initializer_list<int>,
                    std::unique_lock<std::mutex>, std::atomic_ref<int>>);
}

TEST(Iterators, are_refused_D4) {
  static_assert(kNoneSendable<std::vector<int>::iterator, std::string::const_iterator,
                              std::list<int>::iterator, std::map<int, int>::const_iterator,
                              std::reverse_iterator<std::deque<int>::iterator>>);
}

TEST(SharedOwnership, is_refused_unless_what_is_shared_is_const_D4) {
  static_assert(kNoneSendable<std::shared_ptr<int>, std::weak_ptr<int>, std::shared_ptr<int[]>,
                              std::shared_ptr<std::string_view const>,
                              std::shared_ptr<std::vector<int*> const>>);
  static_assert(kAllSendable<std::shared_ptr<int const>, std::shared_ptr<int const[]>,
                             std::weak_ptr<std::string const>>);
}

template <class T>
struct ArenaAllocator {
  using value_type = T;
  One<std::byte*> arena;
  T* allocate(std::size_t count);
  void deallocate(T* place, std::size_t count);
};

TEST(Containers, with_memory_of_the_senders_are_refused_D4) {
  static_assert(kNoneSendable<std::pmr::vector<int>, std::pmr::string,
                              std::vector<int, ArenaAllocator<int>>>);
}

TEST(TemplatesOfTheStandardLibrary, are_as_good_as_their_arguments_D4) {
  static_assert(
      kAllSendable<std::vector<std::string>, std::map<std::string, std::vector<int>>,
                   std::unordered_map<std::string, std::set<int>>, std::set<int, std::less<>>,
                   std::set<int, bool (*)(int, int)>, std::pair<int, std::string>, std::tuple<>,
                   std::tuple<int, Money, std::string>, std::optional<std::string>,
                   std::variant<std::monostate, int, std::string>, std::expected<void, std::string>,
                   std::array<std::string, 4>, std::array<int, 0>,
                   std::array<std::array<char, 64>, 64>>);
  static_assert(
      kNoneSendable<std::vector<std::string_view>, std::vector<int*>,
                    std::map<std::string, std::vector<char const*>>, std::map<char const*, int>,
                    std::pair<int, std::string&>, std::tuple<int, std::string const&>,
                    std::optional<std::span<int>>, std::variant<int, std::string_view>,
                    std::expected<int, char const*>, std::array<int*, 4>>);
}

using Customer = Two<std::string, std::optional<std::string>>;
using Order = Three<int, Customer, std::vector<std::pair<std::string, int>>>;
using Titled = Two<std::string, std::string_view>;
using TitledOrder = Three<int, Titled, double>;

TEST(Aggregates, are_as_good_as_their_members_D4) {
  static_assert(Sendable<Customer>);
  static_assert(Sendable<Four<int, double, std::string, void (*)()>>);
  static_assert(
      kNoneSendable<One<char const*>, Titled, Four<int, double, std::string, std::span<int>>>);
}

TEST(Aggregates, are_looked_into_at_any_depth_D4) {
  static_assert(Sendable<Order>);
  static_assert(Sendable<std::vector<Order>>);
  static_assert(kNoneSendable<TitledOrder, std::vector<TitledOrder>,
                              std::map<int, std::unique_ptr<TitledOrder>>>);
}

TEST(References, are_found_in_aggregates_D4) {
  static_assert(
      kNoneSendable<One<int&>, One<int&&>, One<void (&)()>, One<int(&)[3]>,
                    Three<int&, std::string, std::vector<int>>, Three<int, std::string const&, int>,
                    Four<int[4], Money, std::string[2][2], int&>>);
}

TEST(Arrays, are_as_good_as_their_elements_D4) {
  static_assert(Sendable<One<char[4096]>>);
  static_assert(Sendable<Two<double[10][100], std::string>>);
  static_assert(!Sendable<One<char const* [8]>>);
  static_assert(!Sendable<Two<int, Titled[2][2]>>);
}

struct Node {
  int value;
  std::unique_ptr<Node> next;
  std::vector<Node> children;
};

struct LinkedNode {
  std::unique_ptr<LinkedNode> next;
  LinkedNode* previous;
};

struct Json {
  std::variant<std::nullptr_t, double, std::string, std::vector<Json>, std::map<std::string, Json>>
      value;
};

struct Folder;
using File = Two<std::string, std::unique_ptr<Folder>>;
struct Folder {
  std::vector<File> files;
};

TEST(TypesThatContainThemselves, are_looked_into_once_D4) {
  static_assert(kAllSendable<Node, Json, File, Folder>);
  static_assert(!Sendable<LinkedNode>);
}

TEST(Types, can_speak_for_themselves_D4) {
  static_assert(!kSendable<Socket>);
  static_assert(!Sendable<Socket>);
  static_assert(!Sendable<Two<int, std::vector<Socket>>>);
  static_assert(kSendable<Interned>);
  static_assert(kAllSendable<Interned, Two<int, Interned>, Slice<int const>>);
  static_assert(!Sendable<Slice<int>>);
  static_assert(!Sendable<std::optional<Slice<int>>>);
}

union Number {
  int whole;
  float real;
};

TEST(WhatCannotBeLookedInto, is_trusted_D4) {
  class Private {
   public:
    Private() = default;
    [[nodiscard]] int* get() const { return pointer_; }

   private:
    int* pointer_ = nullptr;
  };
  struct Derived : One<int*> {
    int more;
  };
  struct WithUnnamedUnion {
    int kind;
    union {
      int whole;
      double real;
    };
  };
  static_assert(kAllSendable<Private, Derived, Number, WithUnnamedUnion, std::function<int*(int&)>,
                             std::any, Celsius>);
  int number = 1;
  auto lambda = [&number] { return number; };
  static_assert(Sendable<decltype(lambda)>);
  EXPECT_EQ(lambda(), 1);
}

// --- counting members ---

template <class T, class... Member>
constexpr bool kConsistsOf = std::is_same_v<members::Of<T>, bulkhead::Types<Member...>>;

template <class A, class B, class C, class D>
constexpr bool kAreFound = kConsistsOf<Four<A, B, C, D>, A, B, C, D>;

TEST(Members, are_found_in_order) {
  struct Defaults {
    int a = 1;
    std::string b = "b";
    std::array<int, 2> c = {1, 2};
    Money d = Money(3);
  };
  static_assert(members::kCount<Stop> == 0);
  static_assert(kAreFound<int, std::string, double const, int[3]>);
  static_assert(kConsistsOf<Defaults, int, std::string, std::array<int, 2>, Money>);
}

struct Greedy {
  template <class T>
  Greedy(T&&) {}  // NOLINT: converts from everything
};

TEST(Members, are_found_beside_such_as_cannot_be_made_from_nothing) {
  static_assert(kAreFound<int[2], Money, Money[2], std::any>);
  static_assert(kAreFound<Money, std::function<void()>, std::optional<Money>, std::mutex>);
  static_assert(kAreFound<Money, std::unique_ptr<int>, std::tuple<Money, int>, std::variant<int>>);
  static_assert(kAreFound<int&, int[2][2], std::string&, One<Money>[2]>);
  static_assert(kAreFound<std::reference_wrapper<int>, int[40], bool, Money const>);
  static_assert(kAreFound<int, Greedy, int, Greedy[2]>);
}

TEST(Members, are_found_behind_empty_bases_and_among_empty_ones) {
  struct Other {};
  struct Tagged : Stop, Other {
    int a;
    Money b;
  };
  static_assert(kConsistsOf<Tagged, int, Money>);
  static_assert(kAreFound<Stop, Stop[2], Other, int>);
  static_assert(kAreFound<Stop, Money, Stop[2], Other>);
}

TEST(Members, may_be_bit_fields_packed_or_deprecated) {
  struct Bits {
    unsigned a : 3;
    unsigned : 2;
    bool b : 1;
    Color c;
  };
  struct [[gnu::packed]] Packed {
    char a;
    int b;
  };
  struct Old {
    int a;
    [[deprecated]] int b;
  };
  static_assert(kConsistsOf<Bits, unsigned, bool, Color>);
  static_assert(kConsistsOf<Packed, char, int>);
  static_assert(kConsistsOf<Old, int, int>);
}

TEST(Members, may_be_unions_or_begin_with_one) {
  struct Address {
    union {
      unsigned char bytes[16];
      std::uint32_t words[4];
    } address;
  };
  static_assert(members::kCount<Address> == members::kUnknown);
  static_assert(kAreFound<Address, Number, int, Address[2]>);
  static_assert(kAreFound<Address, Number, Money, Address[2]>);
}

struct ThirtyTwo {
  int a[2];
  int b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E;
  int* last;
};

struct ThirtyThree {
  int a[2];
  int b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E, F;
  int* last;
};

struct ThirtyTwoWithReference {
  int& a;
  int b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D, E;
  int last[2];
};

TEST(Members, are_counted_up_to_thirty_two) {
  static_assert(members::kCount<ThirtyTwo> == 32);
  static_assert(!Sendable<ThirtyTwo>);
  static_assert(members::kCount<ThirtyTwoWithReference> == 32);
  static_assert(!Sendable<ThirtyTwoWithReference>);
  static_assert(members::kCount<ThirtyThree> == members::kUnknown);
  static_assert(Sendable<ThirtyThree>);
}

TEST(CheckSendable, compiles_and_does_nothing_for_what_may_be_sent_D4) {
  bulkhead::check_sendable<Order>();
  bulkhead::check_sendable<Order const>();
  bulkhead::check_sendable<MoveOnly>();
  bulkhead::check_sendable<Json>();
  bulkhead::check_sendable<void (*)()>();
  static_assert((bulkhead::check_sendable<Stop>(), true));
}

}  // namespace
