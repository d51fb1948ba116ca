/// Crossing: an object is made anew, from the memory that `operator new` gives at that moment, and
/// shares none with the one that it is made from. So messages get over the wall around an isolated
/// actor: see crossable.hpp for which can.
///
/// - What is trivially copyable is copied as its bytes.
/// - Strings and vectors get the capacity that they need, others what their container takes. An
///   unordered container keeps its elements, and not the order in which they are met.
/// - A std::unique_ptr gets a copy of what it owns. What can be cyclic, since it is held by
///   pointers, cannot cross; trees and lists can. Each level of them takes up to some hundred bytes
///   of stack, and about 1000 without optimisation: a list of nodes each of which owns the next one
///   should not be longer than some dozens.
/// - What is handed over, such as a Parcel, leaves the one for the other.
///
/// When something throws meanwhile, nothing of the new object is left, and the old one is as it
/// was.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <expected>
#include <new>
#include <type_traits>
#include <utility>

#include "bulkhead/cross_check.hpp"
#include "bulkhead/crossable.hpp"

namespace bulkhead {

namespace crossing {

/// A T made from `from`. There is not yet anything that has left it.
template <class T>
[[nodiscard]] T anew(const T& from);
/// The same at an address. T may be an array.
template <class T>
void construct(T* at, const T& from);
/// What was handed over leaves `from`.
template <class T>
void leave(T& from) noexcept;

// --- in place ---

template <class T>
void destroy(T& object) noexcept {
  if constexpr (std::is_array_v<T>) {
    for (auto& element : object) crossing::destroy(element);
  } else {
    object.~T();
  }
}

/// Destroys what was made, unless the rest is made too.
template <class T>
struct Undo {
  T* made;
  ~Undo() {
    if (made != nullptr) crossing::destroy(*made);
  }
};

template <class T>
struct MembersOf {
  T* at;
  const T* from;

  template <class List, class... Members>
  void operator()(List /*types*/, const Members&... members) const {
    construct_each(members...);
  }

  void construct_each() const noexcept {}
  template <class First, class... Rest>
  void construct_each(const First& first, const Rest&... rest) const {
    const auto offset = reinterpret_cast<const std::byte*>(__builtin_addressof(first)) -
                        reinterpret_cast<const std::byte*>(from);
    auto* place = reinterpret_cast<First*>(reinterpret_cast<std::byte*>(at) + offset);
    crossing::construct(place, first);
    Undo<First> undo{place};
    construct_each(rest...);
    undo.made = nullptr;
  }
};

template <class Element>
void construct_elements(Element* at, const Element* from, std::size_t count) {
  struct Made {
    Element* first;
    std::size_t count = 0;
    ~Made() {
      while (count > 0) crossing::destroy(first[--count]);
    }
  } made{at};
  for (; made.count < count; ++made.count) crossing::construct(at + made.count, from[made.count]);
  made.count = 0;
}

template <class T>
void construct(T* at, const T& from) {
  if constexpr (sendable::is_empty<T>() && kWay<T> == Way::kBytes) {
    // It may lie in another's first byte.
  } else if constexpr (kWay<T> == Way::kBytes) {
    std::memcpy(static_cast<void*>(at), static_cast<const void*>(__builtin_addressof(from)),
                sizeof(T));
  } else if constexpr (std::is_array_v<T>) {
    crossing::construct_elements(*at, from, std::extent_v<T>);
  } else if constexpr (kWay<T> == Way::kArray) {
    using Element = typename T::value_type;
    crossing::construct_elements(reinterpret_cast<std::remove_cv_t<Element>*>(at), from.data(),
                                 from.size());
  } else if constexpr (kWay<T> == Way::kMembers) {
    members::bind<members::kCount<T>>(from, MembersOf<T>{at, __builtin_addressof(from)});
  } else {
    ::new (static_cast<void*>(at)) T(crossing::anew(from));
  }
}

/// For what can only be made in place.
template <class T>
struct Room {
  union {
    T value;
  };
  explicit Room(const T& from) { crossing::construct(__builtin_addressof(value), from); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { value.~T(); }
};

// --- the standard library ---

template <class Container>
Container sequence_anew(const Container& from) {
  using Element = typename Container::value_type;
  if constexpr (kWay<Element> == Way::kBytes && std::is_copy_constructible_v<Element>) {
    return Container(from.begin(), from.end());
  } else {
    Container to;
    if constexpr (requires { to.reserve(0); }) to.reserve(from.size());
    for (const Element& element : from) to.push_back(crossing::anew(element));
    return to;
  }
}

template <class List>
List forward_list_anew(const List& from) {
  List to;
  auto last = to.before_begin();
  for (const auto& element : from) last = to.insert_after(last, crossing::anew(element));
  return to;
}

template <class Container>
void fill(Container& to, const Container& from) {
  for (const auto& element : from) {
    if constexpr (requires { typename Container::mapped_type; }) {
      to.emplace_hint(to.end(), crossing::anew(element.first), crossing::anew(element.second));
    } else {
      to.emplace_hint(to.end(), crossing::anew(element));
    }
  }
}

template <class Container>
Container tree_anew(const Container& from) {
  Container to(crossing::anew(from.key_comp()));
  crossing::fill(to, from);
  return to;
}

template <class Container>
Container table_anew(const Container& from) {
  Container to(0, crossing::anew(from.hash_function()), crossing::anew(from.key_eq()));
  to.max_load_factor(from.max_load_factor());
  to.reserve(from.size());
  crossing::fill(to, from);
  return to;
}

/// The container in an adaptor, which is protected; and what a std::priority_queue compares by.
template <class Adaptor>
struct Open : Adaptor {
  template <class A>
  static auto& container(A& adaptor) noexcept {
    return adaptor.*(&Open::c);
  }
  static const auto& compare(const Adaptor& adaptor) noexcept { return adaptor.*(&Open::comp); }
};

template <class Adaptor>
Adaptor adaptor_anew(const Adaptor& from) {
  using Inside = Open<Adaptor>;
  if constexpr (requires { typename Adaptor::value_compare; }) {
    Adaptor to(crossing::anew(Inside::compare(from)));
    Inside::container(to) = crossing::anew(Inside::container(from));
    return to;
  } else {
    return Adaptor(crossing::anew(Inside::container(from)));
  }
}

template <class List>
struct Length;
template <class... T>
struct Length<Types<T...>> {
  static constexpr std::size_t value = sizeof...(T);
};
template <class T>
inline constexpr std::size_t kLength = Length<typename Arguments<T>::List>::value;

template <class Tuple, std::size_t... I>
Tuple tuple_anew(const Tuple& from, std::index_sequence<I...>) {
  return Tuple(crossing::anew(get<I>(from))...);
}

template <class Variant, std::size_t I = 0>
Variant variant_anew(const Variant& from) {
  if constexpr (I == kLength<Variant>) {
    return Variant(std::move(const_cast<Variant&>(from)));  // it holds nothing
  } else {
    if (from.index() != I) return crossing::variant_anew<Variant, I + 1>(from);
    return Variant(std::in_place_index<I>, crossing::anew(get<I>(from)));
  }
}

template <class Expected>
Expected expected_anew(const Expected& from) {
  if (!from.has_value()) return Expected(std::unexpect, crossing::anew(from.error()));
  if constexpr (std::is_void_v<typename Expected::value_type>) {
    return Expected();
  } else {
    return Expected(std::in_place, crossing::anew(*from));
  }
}

template <class Unique>
Unique unique_anew(const Unique& from) {
  using Object = std::remove_cv_t<typename Unique::element_type>;
  return from != nullptr ? Unique(new Object(crossing::anew<Object>(*from))) : Unique();
}

template <class T>
T container_anew(const T& from) {
  constexpr Way kHow = kWay<T>;
  if constexpr (kHow == Way::kString) {
    return T(from.data(), from.size());
  } else if constexpr (kHow == Way::kVector || kHow == Way::kDeque) {
    return crossing::sequence_anew(from);
  } else if constexpr (kHow == Way::kForwardList) {
    return crossing::forward_list_anew(from);
  } else if constexpr (kHow == Way::kTree) {
    return crossing::tree_anew(from);
  } else if constexpr (kHow == Way::kTable) {
    return crossing::table_anew(from);
  } else {
    static_assert(kHow == Way::kAdaptor);
    return crossing::adaptor_anew(from);
  }
}

template <class T>
T anew(const T& from) {
  constexpr Way kHow = kWay<T>;
  if constexpr (kHow == Way::kBytes) {
    return __builtin_bit_cast(T, from);
  } else if constexpr (kHow == Way::kEmpty) {
    return T(from);
  } else if constexpr (kHow == Way::kOwn) {
    return Crossing<T>::cross(from);
  } else if constexpr (kHow == Way::kMembers || kHow == Way::kArray) {
    return T(std::move(Room<T>(from).value));
  } else if constexpr (kHow == Way::kPair) {
    return T(crossing::anew(from.first), crossing::anew(from.second));
  } else if constexpr (kHow == Way::kTuple) {
    return crossing::tuple_anew(from, std::make_index_sequence<kLength<T>>{});
  } else if constexpr (kHow == Way::kOptional) {
    return from.has_value() ? T(std::in_place, crossing::anew(*from)) : T();
  } else if constexpr (kHow == Way::kVariant) {
    return crossing::variant_anew(from);
  } else if constexpr (kHow == Way::kExpected) {
    return crossing::expected_anew(from);
  } else if constexpr (kHow == Way::kUnique) {
    return crossing::unique_anew(from);
  } else if constexpr (kHow == Way::kPath) {
    return T(crossing::anew(from.native()));
  } else {
    return crossing::container_anew(from);
  }
}

// --- what is handed over leaves ---

struct LeaveEach {
  template <class List, class... Members>
  void operator()(List /*types*/, Members&... members) const noexcept {
    (crossing::leave(members), ...);
  }
};

template <class Tuple, std::size_t... I>
void leave_tuple(Tuple& from, std::index_sequence<I...>) noexcept {
  (crossing::leave(get<I>(from)), ...);
}

template <class Variant, std::size_t I = 0>
void leave_variant(Variant& from) noexcept {
  if constexpr (I < kLength<Variant>) {
    if (from.index() == I) {
      crossing::leave(get<I>(from));
    } else {
      crossing::leave_variant<Variant, I + 1>(from);
    }
  }
}

template <class Expected>
void leave_expected(Expected& from) noexcept {
  if (!from.has_value()) {
    crossing::leave(from.error());
  } else if constexpr (!std::is_void_v<typename Expected::value_type>) {
    crossing::leave(*from);
  }
}

template <class Container>
void leave_elements(Container& from) noexcept {
  if constexpr (requires { typename Container::key_type; }) {
    static_assert(!kHandsOver<typename Container::key_type>,
                  "bulkhead: this message cannot cross: what is handed over, such as a Parcel, "
                  "cannot be the key of a container, since keys do not change");
  }
  for (auto& element : from) {
    if constexpr (requires { typename Container::mapped_type; }) {
      crossing::leave(element.second);
    } else {
      crossing::leave(element);
    }
  }
}

template <class T>
void leave(T& from) noexcept {
  constexpr Way kHow = kWay<T>;
  if constexpr (!kHandsOver<T>) {
    // nothing
  } else if constexpr (kHow == Way::kOwn) {
    Crossing<T>::let_go(from);
  } else if constexpr (kHow == Way::kMembers) {
    members::bind<members::kCount<T>>(from, LeaveEach{});
  } else if constexpr (kHow == Way::kPair) {
    crossing::leave(from.first);
    crossing::leave(from.second);
  } else if constexpr (kHow == Way::kTuple) {
    crossing::leave_tuple(from, std::make_index_sequence<kLength<T>>{});
  } else if constexpr (kHow == Way::kOptional || kHow == Way::kUnique) {
    if (from) crossing::leave(*from);
  } else if constexpr (kHow == Way::kVariant) {
    crossing::leave_variant(from);
  } else if constexpr (kHow == Way::kExpected) {
    crossing::leave_expected(from);
  } else if constexpr (kHow == Way::kAdaptor) {
    crossing::leave(Open<T>::container(from));
  } else {
    crossing::leave_elements(from);
  }
}

/// Has what was handed over leave when the result is there: to return it may be a move, which may
/// throw.
template <class T>
struct LeaveAtEnd {
  T& from;
};
template <class T>
  requires kHandsOver<T>
struct LeaveAtEnd<T> {
  T& from;
  int exceptions = std::uncaught_exceptions();

  ~LeaveAtEnd() {
    if (std::uncaught_exceptions() == exceptions) crossing::leave(from);
  }
};

}  // namespace crossing

/// For a Crossing: a member made from `from`. What is to be handed over is still in `from` as well;
/// see let_go. Throws what making it throws; std::bad_alloc.
template <class T>
[[nodiscard]] T crossed(const T& from) noexcept(crossing::kWithoutMemory<T>) {
  crossing::check_part<T>();
  if constexpr (crossing::kClean<T, Types<>>) {
    return crossing::anew(from);
  } else {
    __builtin_unreachable();  // it has not compiled
  }
}

/// For a Crossing that hands a member over: `from`, of which one has been `crossed`, keeps it no
/// longer.
template <class T>
void let_go(T& from) noexcept {
  crossing::check_part<T>();
  if constexpr (crossing::kClean<T, Types<>>) crossing::leave(from);
}

/// Is a T no more than its bytes, which hold nobody's memory?
template <class T>
inline constexpr bool kStaysAsItIs = std::is_trivially_copyable_v<T>;

/// Makes a message anew from `from`, in the memory that is current. What is handed over leaves
/// `from`, which otherwise stays as it is. Throws what making it throws, such as std::bad_alloc;
/// nothing has left `from` then.
template <class T>
  requires(!std::is_reference_v<T> && !std::is_const_v<T>)
[[nodiscard]] T cross(T&& from) noexcept(kCrossesWithoutMemory<T>) {
  check_crossable<T>();
  if constexpr (Crossable<T>) {
    [[maybe_unused]] const crossing::LeaveAtEnd<T> end{from};
    return crossing::anew(from);
  } else {
    __builtin_unreachable();
  }
}

}  // namespace bulkhead
