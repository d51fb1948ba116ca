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

struct Stop {};

enum class Color : std::uint8_t { kRed, kGreen };

/// Cannot be made from nothing.
struct Money {
  explicit Money(std::int64_t amount) : cents(amount) {}
  std::int64_t cents;
};

// --- A11: payloads move ---

struct MoveOnly {
  std::unique_ptr<int> owned;
  std::vector<std::unique_ptr<std::string>> many;
};

TEST(MoveOnlyMessages, may_be_sent_A11) {
  static_assert(Sendable<std::unique_ptr<int>>);
  static_assert(Sendable<std::unique_ptr<int[]>>);
  static_assert(Sendable<std::vector<std::unique_ptr<int>>>);
  static_assert(Sendable<MoveOnly>);
  static_assert(!std::is_copy_constructible_v<MoveOnly>);
  static_assert(Sendable<std::optional<MoveOnly>>);
  static_assert(Sendable<std::thread>);
}

TEST(MoveOnlyMessages, keep_their_payload_in_place_when_they_are_moved_A11) {
  MoveOnly sent{.owned = std::make_unique<int>(1), .many = {}};
  sent.many.push_back(std::make_unique<std::string>("text"));
  int const* const owned = sent.owned.get();
  auto const* const many = sent.many.data();
  const MoveOnly received = std::move(sent);
  EXPECT_EQ(received.owned.get(), owned);
  EXPECT_EQ(received.many.data(), many);
}

struct FileCloser {
  void operator()(int* file) const { delete file; }
};

struct PoolDeleter {
  std::vector<int*>* pool;
  void operator()(int* number) const { pool->push_back(number); }
};

TEST(MoveOnlyMessages, may_have_deleters_that_refer_to_nothing_of_the_senders_A11_D4) {
  static_assert(Sendable<std::unique_ptr<int, FileCloser>>);
  static_assert(Sendable<std::unique_ptr<int, void (*)(int*)>>);
  static_assert(!Sendable<std::unique_ptr<int, PoolDeleter>>);
}

struct Guarded {
  int value;
  std::mutex mutex;
};

class Immovable {
 public:
  Immovable() = default;
  Immovable(Immovable const&) = delete;
  Immovable& operator=(Immovable const&) = delete;
};

struct HoldsConstOwner {
  std::unique_ptr<int> const owned;
};

TEST(ImmovableTypes, are_refused_A11) {
  static_assert(!Sendable<std::mutex>);
  static_assert(!Sendable<std::atomic<int>>);
  static_assert(!Sendable<Guarded>);
  static_assert(!Sendable<Immovable>);
  static_assert(!Sendable<std::array<std::mutex, 2>>);
  static_assert(!Sendable<HoldsConstOwner>);
}

TEST(ImmovableTypes, may_be_sent_by_their_owner_A11) {
  static_assert(Sendable<std::unique_ptr<Guarded>>);
  static_assert(Sendable<std::vector<std::unique_ptr<Immovable>>>);
  static_assert(Sendable<std::shared_ptr<Immovable const>>);
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
  static_assert(!Sendable<Declared>);
  static_assert(!Sendable<Shape>);
  static_assert(!Sendable<void>);
  static_assert(!Sendable<void()>);
  static_assert(!Sendable<int[3]>);
  static_assert(!Sendable<int&>);
  static_assert(!Sendable<int&&>);
  static_assert(!Sendable<int const&>);
  static_assert(Sendable<std::unique_ptr<Shape>>);
}

struct alignas(64) CacheLine {
  std::byte bytes[64];
};

struct alignas(128) TwoLines {
  std::byte bytes[128];
};

TEST(Messages, are_aligned_to_a_cache_line_at_most) {
  static_assert(Sendable<CacheLine>);
  static_assert(!Sendable<TwoLines>);
}

// --- D4: what is in them ---

TEST(Values, may_be_sent_D4) {
  static_assert(Sendable<int>);
  static_assert(Sendable<bool const>);
  static_assert(Sendable<long double>);
  static_assert(Sendable<Color>);
  static_assert(Sendable<std::byte>);
  static_assert(Sendable<std::nullptr_t>);
  static_assert(Sendable<Stop>);
  static_assert(Sendable<Money>);
  static_assert(Sendable<bulkhead::Pid>);
  static_assert(Sendable<std::string>);
  static_assert(Sendable<std::chrono::nanoseconds>);
  static_assert(Sendable<std::chrono::steady_clock::time_point>);
}

TEST(Pointers, are_refused_D4) {
  static_assert(!Sendable<int*>);
  static_assert(!Sendable<int const*>);
  static_assert(!Sendable<int* const>);
  static_assert(!Sendable<int**>);
  static_assert(!Sendable<void*>);
  static_assert(!Sendable<void const*>);
  static_assert(!Sendable<char const*>);
  static_assert(!Sendable<Stop*>);
  static_assert(!Sendable<int Money::*>);
  static_assert(!Sendable<void (Money::*)()>);
}

TEST(PointersToFunctions, may_be_sent_D4) {
  static_assert(Sendable<void (*)()>);
  static_assert(Sendable<int (*)(int*, char const*) noexcept>);
  static_assert(Sendable<int (*)(char const*, ...)>);
}

TEST(Volatile, is_refused_D4) {
  struct Register {
    int volatile bits;
  };
  static_assert(!Sendable<int volatile>);
  static_assert(!Sendable<Register>);
}

TEST(Views, are_refused_D4) {
  static_assert(!Sendable<std::string_view>);
  static_assert(!Sendable<std::u8string_view>);
  static_assert(!Sendable<std::span<int>>);
  static_assert(!Sendable<std::span<int const, 4>>);
  static_assert(!Sendable<std::reference_wrapper<int>>);
  static_assert(!Sendable<std::initializer_list<int>>);
  static_assert(!Sendable<std::unique_lock<std::mutex>>);
  static_assert(!Sendable<std::atomic_ref<int>>);
}

TEST(Iterators, are_refused_D4) {
  static_assert(!Sendable<std::vector<int>::iterator>);
  static_assert(!Sendable<std::string::const_iterator>);
  static_assert(!Sendable<std::list<int>::iterator>);
  static_assert(!Sendable<std::map<int, int>::const_iterator>);
  static_assert(!Sendable<std::reverse_iterator<std::deque<int>::iterator>>);
}

TEST(SharedOwnership, is_refused_unless_what_is_shared_is_const_D4) {
  static_assert(!Sendable<std::shared_ptr<int>>);
  static_assert(!Sendable<std::weak_ptr<int>>);
  static_assert(!Sendable<std::shared_ptr<int[]>>);
  static_assert(Sendable<std::shared_ptr<int const>>);
  static_assert(Sendable<std::shared_ptr<int const[]>>);
  static_assert(Sendable<std::weak_ptr<std::string const>>);
  static_assert(!Sendable<std::shared_ptr<std::string_view const>>);
  static_assert(!Sendable<std::shared_ptr<std::vector<int*> const>>);
}

struct Arena {
  std::byte* next;
};

template <class T>
struct ArenaAllocator {
  using value_type = T;
  Arena* arena;
  T* allocate(std::size_t count);
  void deallocate(T* place, std::size_t count);
};

TEST(Containers, with_memory_of_the_senders_are_refused_D4) {
  static_assert(!Sendable<std::pmr::vector<int>>);
  static_assert(!Sendable<std::pmr::string>);
  static_assert(!Sendable<std::vector<int, ArenaAllocator<int>>>);
}

TEST(TemplatesOfTheStandardLibrary, are_as_good_as_their_arguments_D4) {
  static_assert(Sendable<std::vector<std::string>>);
  static_assert(!Sendable<std::vector<std::string_view>>);
  static_assert(!Sendable<std::vector<int*>>);
  static_assert(Sendable<std::map<std::string, std::vector<int>>>);
  static_assert(!Sendable<std::map<std::string, std::vector<char const*>>>);
  static_assert(!Sendable<std::map<char const*, int>>);
  static_assert(Sendable<std::unordered_map<std::string, std::set<int>>>);
  static_assert(Sendable<std::set<int, std::less<>>>);
  static_assert(Sendable<std::set<int, bool (*)(int, int)>>);
  static_assert(Sendable<std::pair<int, std::string>>);
  static_assert(!Sendable<std::pair<int, std::string&>>);
  static_assert(Sendable<std::tuple<>>);
  static_assert(Sendable<std::tuple<int, Money, std::string>>);
  static_assert(!Sendable<std::tuple<int, std::string const&>>);
  static_assert(Sendable<std::optional<std::string>>);
  static_assert(!Sendable<std::optional<std::span<int>>>);
  static_assert(Sendable<std::variant<std::monostate, int, std::string>>);
  static_assert(!Sendable<std::variant<int, std::string_view>>);
  static_assert(Sendable<std::expected<void, std::string>>);
  static_assert(!Sendable<std::expected<int, char const*>>);
  static_assert(Sendable<std::array<std::string, 4>>);
  static_assert(!Sendable<std::array<int*, 4>>);
  static_assert(Sendable<std::array<int, 0>>);
  static_assert(Sendable<std::array<std::array<char, 4096>, 4096>>);
}

struct Customer {
  std::string name;
  std::optional<std::string> title;
};

struct Order {
  int id = 0;
  Customer customer;
  std::vector<std::pair<std::string, int>> lines;
};

struct Titled {
  std::string name;
  std::string_view title;
};

struct TitledOrder {
  int id;
  Titled customer;
};

TEST(Aggregates, are_as_good_as_their_members_D4) {
  struct Text {
    char const* text;
  };
  struct Last {
    int a;
    double b;
    std::string c;
    std::span<int> d;
  };
  static_assert(Sendable<Customer>);
  static_assert(!Sendable<Text>);
  static_assert(!Sendable<Last>);
  static_assert(!Sendable<Titled>);
}

TEST(Aggregates, are_looked_into_at_any_depth_D4) {
  static_assert(Sendable<Order>);
  static_assert(!Sendable<TitledOrder>);
  static_assert(Sendable<std::vector<Order>>);
  static_assert(!Sendable<std::vector<TitledOrder>>);
  static_assert(!Sendable<std::map<int, std::unique_ptr<TitledOrder>>>);
}

TEST(References, are_found_in_aggregates_D4) {
  struct Only {
    int& number;
  };
  struct First {
    int& number;
    std::string text;
    std::vector<int> numbers;
  };
  struct Middle {
    int id;
    std::string const& text;
    int more;
  };
  struct Rvalue {
    int&& number;
  };
  struct BesideArrays {
    int lines[4];
    Money price;
    std::string names[2][2];
    int& total;
  };
  struct ToFunction {
    void (&function)();
  };
  static_assert(!Sendable<Only>);
  static_assert(!Sendable<First>);
  static_assert(!Sendable<Middle>);
  static_assert(!Sendable<Rvalue>);
  static_assert(!Sendable<BesideArrays>);
  static_assert(!Sendable<ToFunction>);
}

TEST(Arrays, are_as_good_as_their_elements_D4) {
  struct Text {
    char text[4096];
  };
  struct Matrix {
    double cells[100][100];
    std::string name;
  };
  struct Names {
    char const* names[8];
  };
  struct Titles {
    int id;
    Titled titles[2][2];
  };
  static_assert(Sendable<Text>);
  static_assert(Sendable<Matrix>);
  static_assert(!Sendable<Names>);
  static_assert(!Sendable<Titles>);
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
struct File {
  std::string name;
  std::unique_ptr<Folder> attachments;
};
struct Folder {
  std::vector<File> files;
};

TEST(TypesThatContainThemselves, are_looked_into_once_D4) {
  static_assert(Sendable<Node>);
  static_assert(!Sendable<LinkedNode>);
  static_assert(Sendable<Json>);
  static_assert(Sendable<File>);
  static_assert(Sendable<Folder>);
}

TEST(Types, can_speak_for_themselves_D4) {
  struct HasSocket {
    int id;
    std::vector<Socket> sockets;
  };
  struct HasName {
    int id;
    Interned name;
  };
  static_assert(!kSendable<Socket>);
  static_assert(!Sendable<Socket>);
  static_assert(!Sendable<HasSocket>);
  static_assert(kSendable<Interned>);
  static_assert(Sendable<Interned>);
  static_assert(Sendable<HasName>);
  static_assert(Sendable<Slice<int const>>);
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
  struct Base {
    int* pointer;
  };
  struct Derived : Base {
    int more;
  };
  struct WithUnnamedUnion {
    int kind;
    union {
      int whole;
      double real;
    };
  };
  static_assert(Sendable<Private>);
  static_assert(Sendable<Derived>);
  static_assert(Sendable<Number>);
  static_assert(Sendable<WithUnnamedUnion>);
  static_assert(Sendable<std::function<int*(int&)>>);
  static_assert(Sendable<std::any>);
  static_assert(Sendable<Celsius>);
  int number = 1;
  auto lambda = [&number] { return number; };
  static_assert(Sendable<decltype(lambda)>);
  EXPECT_EQ(lambda(), 1);
}

// --- counting members ---

template <class T, class... Member>
constexpr bool kConsistsOf = std::is_same_v<members::Of<T>, bulkhead::Types<Member...>>;

TEST(Members, are_found_in_order) {
  struct Mixed {
    int a;
    std::string b;
    double const c;
    int d[3];
    std::unique_ptr<int> e;
  };
  struct Defaults {
    int a = 1;
    std::string b = "b";
    std::array<int, 2> c = {1, 2};
    Money d = Money(3);
  };
  static_assert(members::kCount<Stop> == 0);
  static_assert(kConsistsOf<Mixed, int, std::string, double const, int[3], std::unique_ptr<int>>);
  static_assert(kConsistsOf<Defaults, int, std::string, std::array<int, 2>, Money>);
}

struct Greedy {
  template <class T>
  Greedy(T&&) {}  // NOLINT: converts from everything
};

TEST(Members, are_found_beside_such_as_cannot_be_made_from_nothing) {
  struct Priced {
    int id[2];
    Money price;
    Money more[2];
    std::any any;
    std::function<void()> function;
    std::optional<Money> offer;
    std::unique_ptr<int> owned;
    std::mutex mutex;
  };
  struct Referring {
    int& a;
    int b[2][2];
    std::string& c;
    Priced& d;
  };
  struct HasGreedy {
    int a;
    Greedy b;
    int c;
  };
  static_assert(kConsistsOf<Priced, int[2], Money, Money[2], std::any, std::function<void()>,
                            std::optional<Money>, std::unique_ptr<int>, std::mutex>);
  static_assert(kConsistsOf<Referring, int&, int[2][2], std::string&, Priced&>);
  static_assert(kConsistsOf<HasGreedy, int, Greedy, int>);
}

TEST(Members, are_found_behind_empty_bases_and_among_empty_ones) {
  struct Other {};
  struct Tagged : Stop, Other {
    int a;
    Money b;
  };
  struct Empties {
    Stop a;
    Stop b[2];
    [[no_unique_address]] Other c;
    int d;
  };
  static_assert(kConsistsOf<Tagged, int, Money>);
  static_assert(kConsistsOf<Empties, Stop, Stop[2], Other, int>);
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
  struct Endpoint {
    Address address;
    Number port;
    Address more[2];
  };
  static_assert(members::kCount<Address> == members::kUnknown);
  static_assert(kConsistsOf<Endpoint, Address, Number, Address[2]>);
}

struct ThirtyTwo {
  int a[2], b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D,
      E;
  int* last;
};

struct ThirtyThree {
  int a[2], b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, A, B, C, D,
      E;
  int F;
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
