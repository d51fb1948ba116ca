/// What may cross the wall around an isolated actor: the check, at compile time, that a message can
/// be made anew in other memory, so that it holds nothing of what it was made from.
///
/// The memory of an isolated actor is discarded as a whole when that fails. So its messages, in
/// both directions, do not move as others do: they are *crossed* (cross.hpp), and what crosses must
/// be known down to its last byte. Refused is what cannot be sent at all (sendable.hpp), and also
/// - shared ownership, whatever it is to: std::shared_ptr, std::weak_ptr;
/// - what hides its contents: std::function and the like, std::any, std::exception_ptr, and lambdas
///   that capture something;
/// - std::unique_ptr with a deleter of its own, to an array of unknown length, or to a class with
///   virtual functions (unless it is final), of which it could be a part;
/// - containers with an allocator of their own;
/// - unions and classes that are not trivially copyable, unless they are aggregates, or made from a
///   template of the standard library that is known here, or say by bulkhead::Crossing how they
///   cross. An aggregate that has a destructor of its own is no different: that might release
///   something twice.
///
/// An aggregate is looked into member by member. Of the standard library, strings, containers and
/// their adaptors, std::array, pair, tuple, optional, variant, expected, unique_ptr and
/// filesystem::path cross if what they are made of does, and so does what is trivially copyable.
/// A class of the user's that is trivially copyable and cannot be looked into, because of private
/// members, is trusted, and so are unions: if one holds a pointer, specialise kSendable to false.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/bit_fields.hpp"
#include "bulkhead/members.hpp"
#include "bulkhead/sendable.hpp"
#include "bulkhead/type_name.hpp"

namespace bulkhead {

/// How a class of one's own crosses. Specialise it for one that has private members and is not
/// trivially copyable, and let it be a friend of the class:
///
///     template <>
///     struct bulkhead::Crossing<Order> {
///       static Order cross(const Order& from) {
///         return Order(bulkhead::crossed(from.items_), from.total_);
///       }
///     };
///
/// cross returns an object that is as good as `from`, and holds none of its memory: each member is
/// `crossed`. It may throw, and then `from` is as it was. The class is then trusted as a whole.
///
/// Two more members may be there. `static void let_go(T& from) noexcept` is called when the whole
/// message has crossed: what was handed over, and not copied, leaves `from` (bulkhead::let_go).
/// `static constexpr bool kWithoutMemory = true` says that cross neither allocates
/// nor throws.
///
/// The declaration must come before the first use.
template <class T>
struct Crossing;

namespace crossing {

using sendable::Arguments;
using sendable::Grown;
using sendable::kComplete;
using sendable::kOneOf;
using sendable::kStdTemplate;

/// What is wrong with a type itself, whatever its parts are.
enum class Fault : unsigned char {
  kNone,
  kUnsendable,
  kShared,
  kFunction,
  kAny,
  kException,
  kLambda,
  kUnion,
  kDeleter,
  kAllocator,
  kPolymorphic,
  kUnboundedArray,
  kIncomplete,
  kOwnMoves,
  kBadCrossing,
  kOpaque,
};

/// How something crosses.
enum class Way : unsigned char {
  kNone,     // not at all
  kBytes,    // as its bytes
  kEmpty,    // there is nothing of it
  kOwn,      // as Crossing says
  kMembers,  // member by member
  kArray,    // element by element, as also std::array
  kString,
  kVector,
  kDeque,  // and std::list
  kForwardList,
  kTree,
  kTable,
  kAdaptor,
  kPair,
  kTuple,
  kOptional,
  kVariant,
  kExpected,
  kUnique,
  kPath,
};

// --- the standard library, by name, so that none of its headers is needed ---

struct StdWay {
  std::string_view name;
  Way way;
};

inline constexpr StdWay kStdWays[] = {
    {"basic_string", Way::kString},
    {"vector", Way::kVector},
    {"array", Way::kArray},
    {"pair", Way::kPair},
    {"tuple", Way::kTuple},
    {"optional", Way::kOptional},
    {"variant", Way::kVariant},
    {"expected", Way::kExpected},
    {"unique_ptr", Way::kUnique},
    {"map", Way::kTree},
    {"set", Way::kTree},
    {"multimap", Way::kTree},
    {"multiset", Way::kTree},
    {"unordered_map", Way::kTable},
    {"unordered_set", Way::kTable},
    {"unordered_multimap", Way::kTable},
    {"unordered_multiset", Way::kTable},
    {"deque", Way::kDeque},
    {"list", Way::kDeque},
    {"forward_list", Way::kForwardList},
    {"queue", Way::kAdaptor},
    {"stack", Way::kAdaptor},
    {"priority_queue", Way::kAdaptor},
};

struct StdFault {
  std::string_view name;
  Fault fault;
};

inline constexpr StdFault kStdFaults[] = {
    {"shared_ptr", Fault::kShared},
    {"weak_ptr", Fault::kShared},
    {"function", Fault::kFunction},
    {"move_only_function", Fault::kFunction},
    {"copyable_function", Fault::kFunction},
    {"packaged_task", Fault::kFunction},
    {"enable_shared_from_this", Fault::kShared},
};

constexpr Way std_way(std::string_view name) {
  for (const StdWay& known : kStdWays) {
    if (name == known.name) return known.way;
  }
  return Way::kNone;
}

constexpr Fault std_fault(std::string_view name) {
  for (const StdFault& known : kStdFaults) {
    if (name == known.name) return known.fault;
  }
  return Fault::kNone;
}

/// Whether a class of namespace std that is no template has that last name.
constexpr bool is_std_class(std::string_view name, std::string_view last) {
  return name.starts_with("std::") && name.ends_with(last) &&
         name.find('<') == std::string_view::npos;
}

/// Whether a type of this name is what a lambda makes: "f()::<lambda(int)>", or
/// "(lambda at f.cpp:1:2)".
constexpr bool is_lambda(std::string_view name) {
  if (name.starts_with("(lambda") && name.ends_with(")")) return true;
  constexpr std::string_view kMark = "<lambda";
  std::size_t start = name.find(kMark);
  for (; start != std::string_view::npos; start = name.find(kMark, start + 1)) {
    if (start != 0 && name[start - 1] != ':') continue;
    std::size_t depth = 0;
    std::size_t end = start;
    for (; end < name.size(); ++end) {
      if (name[end] == '<') ++depth;
      if (name[end] == '>' && --depth == 0) break;
    }
    if (end + 1 == name.size()) return true;
  }
  return false;
}

// --- what a type is ---

template <class T>
inline constexpr bool kIsClass = std::is_class_v<T> || std::is_union_v<T>;

template <class T>
inline constexpr bool kOwn = kComplete<Crossing<T>>;

template <class T>
constexpr bool is_bytes() {
  if constexpr (kIsClass<T>) {
    return std::is_trivially_copyable_v<T>;
  } else if constexpr (std::is_array_v<T>) {
    return is_bytes<std::remove_cv_t<std::remove_all_extents_t<T>>>();
  } else {
    return true;
  }
}

template <class... Members>
constexpr bool are_moved_without_throwing(Types<Members...>) {
  return (std::is_nothrow_move_constructible_v<std::remove_all_extents_t<Members>> && ...);
}
template <class... Members>
constexpr bool are_assigned_without_throwing(Types<Members...>) {
  return (std::is_nothrow_move_assignable_v<std::remove_all_extents_t<Members>> && ...);
}
template <class... Members>
constexpr bool are_trivially_destructible(Types<Members...>) {
  return (std::is_trivially_destructible_v<Members> && ...);
}

/// Whether an aggregate has declared how it is destroyed, moved or copied: there are traces of
/// that, where it differs from its members.
template <class T>
constexpr bool has_own_moves() {
  using Members = members::Of<T>;
  return std::is_nothrow_move_constructible_v<T> != are_moved_without_throwing(Members{}) ||
         std::is_nothrow_move_assignable_v<T> != are_assigned_without_throwing(Members{}) ||
         std::is_trivially_destructible_v<T> != are_trivially_destructible(Members{});
}

template <class T>
constexpr Way find_class_way() {
  if constexpr (kOwn<T>) {
    return Way::kOwn;
  } else if constexpr (!kComplete<T>) {
    return Way::kNone;
  } else if constexpr (std::is_trivially_copyable_v<T>) {
    return Way::kBytes;
  } else if constexpr (std::is_empty_v<T>) {
    return std::is_copy_constructible_v<T> ? Way::kEmpty : Way::kNone;
  } else if constexpr (!kStdTemplate<T>.empty()) {
    return std_way(kStdTemplate<T>);
  } else if constexpr (is_std_class(type_name<T>(), "::path")) {
    return Way::kPath;
  } else if constexpr (members::kCount<T> != members::kUnknown) {
    return !members::kHasBitFields<T> && !has_own_moves<T>() ? Way::kMembers : Way::kNone;
  } else {
    return Way::kNone;
  }
}

/// Of a type without const.
template <class T>
constexpr Way find_way() {
  if constexpr (kIsClass<T>) {
    return find_class_way<T>();
  } else if constexpr (std::is_unbounded_array_v<T>) {
    return Way::kNone;
  } else {
    return is_bytes<T>() ? Way::kBytes : Way::kArray;
  }
}

template <class T>
inline constexpr Way kWay = find_way<std::remove_cv_t<T>>();

// --- what is wrong with it ---

template <class T>
constexpr Fault allocator_fault() {
  if constexpr (requires { typename T::allocator_type; }) {
    constexpr std::string_view kAllocator = kStdTemplate<typename T::allocator_type>;
    return kAllocator == "allocator" ? Fault::kNone : Fault::kAllocator;
  } else {
    return Fault::kNone;
  }
}

template <class T>
constexpr Fault pointee_fault() {
  if constexpr (std::is_unbounded_array_v<T>) {
    return Fault::kUnboundedArray;
  } else if constexpr (!std::is_class_v<T> || !kComplete<T>) {
    return Fault::kNone;
  } else {
    return std::is_polymorphic_v<T> && !std::is_final_v<T> ? Fault::kPolymorphic : Fault::kNone;
  }
}

template <class List>
struct First;
template <class T, class... Rest>
struct First<Types<T, Rest...>> {
  using Type = T;
};

template <class T>
constexpr Fault unique_fault() {
  if constexpr (kStdTemplate<typename T::deleter_type> != "default_delete") {
    return Fault::kDeleter;
  } else {
    return pointee_fault<typename First<typename Arguments<T>::List>::Type>();
  }
}

template <class T>
constexpr Fault own_fault() {
  if constexpr (requires(const T& from) {
                  { Crossing<T>::cross(from) } -> std::same_as<T>;
                }) {
    return Fault::kNone;
  } else {
    return Fault::kBadCrossing;
  }
}

template <class T>
constexpr Fault named_fault() {
  if constexpr (is_std_class(type_name<T>(), "::any")) {
    return Fault::kAny;
  } else if constexpr (is_std_class(type_name<T>(), "::exception_ptr")) {
    return Fault::kException;
  } else if constexpr (is_lambda(type_name<T>())) {
    return Fault::kLambda;
  } else {
    return std_fault(kStdTemplate<T>);
  }
}

template <class T>
constexpr Fault opaque_fault() {
  if constexpr (std::is_union_v<T>) {
    return Fault::kUnion;
  } else if constexpr (members::kCount<T> == members::kUnknown) {
    return Fault::kOpaque;
  } else {
    return members::kHasBitFields<T> ? Fault::kOpaque : Fault::kOwnMoves;
  }
}

template <class T>
constexpr Fault class_fault() {
  if constexpr (kOwn<T>) {
    return own_fault<T>();
  } else if constexpr (sendable::kFault<T> != sendable::Fault::kNone) {
    return kStdTemplate<T> == "shared_ptr" || kStdTemplate<T> == "weak_ptr" ? Fault::kShared
                                                                            : Fault::kUnsendable;
  } else if constexpr (!kComplete<T>) {
    return Fault::kIncomplete;
  } else if constexpr (sendable::is_empty<T>() && kWay<T> != Way::kNone) {
    return Fault::kNone;
  } else if constexpr (named_fault<T>() != Fault::kNone) {
    return named_fault<T>();
  } else if constexpr (kWay<T> == Way::kNone) {
    return opaque_fault<T>();
  } else if constexpr (kWay<T> == Way::kUnique) {
    return unique_fault<T>();
  } else {
    return allocator_fault<T>();
  }
}

template <class T>
constexpr Fault find_fault() {
  if constexpr (kIsClass<T>) {
    return class_fault<std::remove_cv_t<T>>();
  } else {
    return sendable::kFault<T> != sendable::Fault::kNone ? Fault::kUnsendable : Fault::kNone;
  }
}

template <class T>
inline constexpr Fault kFault = find_fault<T>();

// --- what it is made of ---

/// As for what is sent; trusted is a class that says how it crosses.
template <class T>
using Parts = decltype(sendable::find_parts<T, kOwn<std::remove_cv_t<T>>>());

template <class T, class Within>
constexpr bool find_clean();

/// Whether a T may be part of what crosses. A class that is met again Within itself is not looked
/// into again.
template <class T, class Within>
inline constexpr bool kClean = find_clean<T, Within>();

template <class Within, class... Part>
constexpr bool are_clean(Types<Part...>) {
  return (kClean<Part, Within> && ...);
}

template <class T, class Within>
constexpr bool find_clean() {
  if constexpr (kOneOf<T, Within>) {
    return true;
  } else if constexpr (kFault<T> != Fault::kNone) {
    return false;
  } else {
    return are_clean<typename Grown<Within, T>::Type>(Parts<T>{});
  }
}

template <class T>
constexpr bool find_without_memory();

template <class T>
inline constexpr bool kWithoutMemory = find_without_memory<std::remove_cv_t<T>>();

template <class... Part>
constexpr bool are_without_memory(Types<Part...>) {
  return (kWithoutMemory<Part> && ...);
}

template <class T>
constexpr bool find_without_memory() {
  constexpr Way kHow = kWay<T>;
  if constexpr (kHow == Way::kBytes || kHow == Way::kEmpty) {
    return true;
  } else if constexpr (kHow == Way::kOwn) {
    return requires { requires Crossing<T>::kWithoutMemory; };
  } else if constexpr (kHow == Way::kMembers || kHow == Way::kArray || kHow == Way::kPair ||
                       kHow == Way::kTuple || kHow == Way::kOptional || kHow == Way::kVariant ||
                       kHow == Way::kExpected) {
    return are_without_memory(Parts<T>{});
  } else {
    return false;
  }
}

template <class T, class Within>
constexpr bool find_hands_over();

/// Whether there is something in a T that is handed over, and so has to leave the one that it came
/// from.
template <class T, class Within = Types<>>
inline constexpr bool kHandsOver = find_hands_over<std::remove_cv_t<T>, Within>();

template <class Within, class... Part>
constexpr bool any_hands_over(Types<Part...>) {
  return (kHandsOver<Part, Within> || ...);
}

template <class T, class Within>
constexpr bool find_hands_over() {
  if constexpr (kOneOf<T, Within> || kWay<T> == Way::kBytes) {
    return false;
  } else if constexpr (kWay<T> == Way::kOwn) {
    return requires(T & from) { Crossing<T>::let_go(from); };
  } else {
    return any_hands_over<typename Grown<Within, T>::Type>(Parts<T>{});
  }
}

}  // namespace crossing

/// A type that may cross the wall around an isolated actor.
template <class T>
concept Crossable = Sendable<T> && crossing::kClean<T, Types<>>;

/// Whether a T, which is Crossable, crosses without any allocation, whatever its value.
template <class T>
inline constexpr bool kCrossesWithoutMemory = crossing::kWithoutMemory<T>;

}  // namespace bulkhead
