/// What an aggregate is made of: the types of its members, in order, found at compile time.
///
/// The language has no reflection yet, so there are two steps. First the members are counted, by
/// asking which lists of initialisers the type takes; then a structured binding of that many names
/// tells their types. (Boost.PFR and reflect-cpp go this way too.) A wrong count would be an error
/// in a program that has none, so whatever is not certain counts as unknown.
///
/// An initialiser is either `{}`, which stands for exactly one member, an array too, but fits only
/// one that can be made from nothing; or an object that converts to anything, which fits any
/// member, but stands for only one element of an array. So the members are counted
/// 1. by `{}` alone: that suits nearly every message, and tries no conversion on its members;
/// 2. where that fails, by conversions alone, and then the elements of each array count as one.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bulkhead/type_name.hpp"

namespace bulkhead {

/// A list of types.
template <class... T>
struct Types {};

/// Looking into aggregates. For the checks of this library.
namespace members {

/// Not looked into, and so kUnknown, are aggregates
/// - of more than kMost members;
/// - with a member that cannot be made from {} and more than kMostElements members in all, where
///   each element of an array counts;
/// - with a base that is not empty, or with an unnamed union;
/// - with an rvalue reference that is not the first member, if g++ is the compiler;
/// - that say themselves, by std::tuple_size, what structured bindings find in them.
/// What is not standard C++, an unnamed struct or an array of no size in it, does not compile.
inline constexpr std::size_t kMost = 32;
inline constexpr std::size_t kMostElements = 64;

inline constexpr std::size_t kUnknown = ~std::size_t{0};

// --- initialisers ---

// These are never made, but a compiler may look into constexpr constructors that take them; so
// their conversions have bodies.

/// Converts to whatever a member of Whole wants, also to a reference, or to what cannot be moved.
/// A constructor that takes anything is preferred to that: so a std::optional is made, too.
template <class Whole>
struct Anything {
  template <class T>
    requires(!std::is_same_v<T, Whole>)
  operator T&() const& noexcept { __builtin_unreachable(); }
  template <class T>
    requires(!std::is_same_v<T, Whole>)
  operator T() const&& noexcept { __builtin_unreachable(); }
};

/// Converts to a T for which Wanted::is<T>() holds. A constructor that takes anything is as good,
/// and that is ambiguous: so it is not looked into, which might be an error.
template <class Wanted>
struct Only {
  template <class T>
    requires(Wanted::template is<T>())
  operator T() && noexcept { __builtin_unreachable(); }
  template <class T>
    requires(!Wanted::template is<T>())
  operator T() && noexcept = delete;
};

template <class Whole>
struct Base {
  template <class T>
  static constexpr bool is() {
    return std::is_base_of_v<T, Whole> && !std::is_same_v<T, Whole>;
  }
};

template <class Whole>
struct FullBase {
  template <class T>
  static constexpr bool is() {
    if constexpr (Base<Whole>::template is<T>()) {
      return !std::is_empty_v<T>;
    } else {
      return false;
    }
  }
};

/// A structured binding would find the members of an unnamed union in its way.
struct UnnamedUnion {
  template <class T>
  static constexpr bool is() {
    if constexpr (std::is_union_v<T>) {
      constexpr std::string_view kName = type_name<T>();
      return kName.find("<unnamed union") != kName.npos ||
             kName.find("(unnamed union") != kName.npos ||
             kName.find("(anonymous union") != kName.npos;
    } else {
      return false;
    }
  }
};

template <class T, std::size_t>
using Repeat = T;

// --- the tables: what must be written out for each number of members ---

// BULKHEAD_EACH_n(f) is f(m1), f(m2), ... up to f(mn). These macros end with the tables.
// clang-format off
#define BULKHEAD_EACH_1(f) f(m1)
#define BULKHEAD_EACH_2(f) BULKHEAD_EACH_1(f), f(m2)
#define BULKHEAD_EACH_3(f) BULKHEAD_EACH_2(f), f(m3)
#define BULKHEAD_EACH_4(f) BULKHEAD_EACH_3(f), f(m4)
#define BULKHEAD_EACH_5(f) BULKHEAD_EACH_4(f), f(m5)
#define BULKHEAD_EACH_6(f) BULKHEAD_EACH_5(f), f(m6)
#define BULKHEAD_EACH_7(f) BULKHEAD_EACH_6(f), f(m7)
#define BULKHEAD_EACH_8(f) BULKHEAD_EACH_7(f), f(m8)
#define BULKHEAD_EACH_9(f) BULKHEAD_EACH_8(f), f(m9)
#define BULKHEAD_EACH_10(f) BULKHEAD_EACH_9(f), f(m10)
#define BULKHEAD_EACH_11(f) BULKHEAD_EACH_10(f), f(m11)
#define BULKHEAD_EACH_12(f) BULKHEAD_EACH_11(f), f(m12)
#define BULKHEAD_EACH_13(f) BULKHEAD_EACH_12(f), f(m13)
#define BULKHEAD_EACH_14(f) BULKHEAD_EACH_13(f), f(m14)
#define BULKHEAD_EACH_15(f) BULKHEAD_EACH_14(f), f(m15)
#define BULKHEAD_EACH_16(f) BULKHEAD_EACH_15(f), f(m16)
#define BULKHEAD_EACH_17(f) BULKHEAD_EACH_16(f), f(m17)
#define BULKHEAD_EACH_18(f) BULKHEAD_EACH_17(f), f(m18)
#define BULKHEAD_EACH_19(f) BULKHEAD_EACH_18(f), f(m19)
#define BULKHEAD_EACH_20(f) BULKHEAD_EACH_19(f), f(m20)
#define BULKHEAD_EACH_21(f) BULKHEAD_EACH_20(f), f(m21)
#define BULKHEAD_EACH_22(f) BULKHEAD_EACH_21(f), f(m22)
#define BULKHEAD_EACH_23(f) BULKHEAD_EACH_22(f), f(m23)
#define BULKHEAD_EACH_24(f) BULKHEAD_EACH_23(f), f(m24)
#define BULKHEAD_EACH_25(f) BULKHEAD_EACH_24(f), f(m25)
#define BULKHEAD_EACH_26(f) BULKHEAD_EACH_25(f), f(m26)
#define BULKHEAD_EACH_27(f) BULKHEAD_EACH_26(f), f(m27)
#define BULKHEAD_EACH_28(f) BULKHEAD_EACH_27(f), f(m28)
#define BULKHEAD_EACH_29(f) BULKHEAD_EACH_28(f), f(m29)
#define BULKHEAD_EACH_30(f) BULKHEAD_EACH_29(f), f(m30)
#define BULKHEAD_EACH_31(f) BULKHEAD_EACH_30(f), f(m31)
#define BULKHEAD_EACH_32(f) BULKHEAD_EACH_31(f), f(m32)

// BULKHEAD_ALL(f) is f(1) f(2) ... f(32).
#define BULKHEAD_ALL(f) \
  f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) \
  f(13) f(14) f(15) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23) f(24) \
  f(25) f(26) f(27) f(28) f(29) f(30) f(31) f(32)
#define BULKHEAD_NAME(name) name
#define BULKHEAD_BRACES(name) {}
// clang-format on

/// How many {} T takes at most; kMost + 1 may mean more.
template <class T>
constexpr std::size_t most_braces() {
#define BULKHEAD_SCAN(n)                                                \
  if constexpr (!requires { T{BULKHEAD_EACH_##n(BULKHEAD_BRACES)}; }) { \
    return n - 1;                                                       \
  } else
  BULKHEAD_ALL(BULKHEAD_SCAN)
  if constexpr (!requires { T{BULKHEAD_EACH_32(BULKHEAD_BRACES), {}}; }) {
    return kMost;
  } else {
    return kMost + 1;
  }
#undef BULKHEAD_SCAN
}

/// Whether T takes N times {}, and then Last.
template <class T, std::size_t N, class... Last>
constexpr bool takes_braces() {
#define BULKHEAD_TAKES(n)                                                  \
  if constexpr (N == n) {                                                  \
    return requires { T{BULKHEAD_EACH_##n(BULKHEAD_BRACES), Last{}...}; }; \
  } else
  BULKHEAD_ALL(BULKHEAD_TAKES)
  return requires { T{Last{}...}; };
#undef BULKHEAD_TAKES
}

/// Whether one of the N members that {} fits takes X, but not {X}.
template <class T, std::size_t N, class X>
constexpr bool one_takes_bare() {
#define BULKHEAD_BARE(n)                                                                       \
  if constexpr (N == n) {                                                                      \
    return false;                                                                              \
  } else if constexpr (requires {                                                              \
                         T{BULKHEAD_EACH_##n(BULKHEAD_BRACES), X{}};                           \
                         requires !requires { T{BULKHEAD_EACH_##n(BULKHEAD_BRACES), {X{}}}; }; \
                       }) {                                                                    \
    return true;                                                                               \
  } else
  if constexpr (N == 0) {
    return false;
  } else if constexpr (requires {
                         T{X{}};
                         requires !requires { T{{X{}}}; };
                       }) {
    return true;
  } else
    BULKHEAD_ALL(BULKHEAD_BARE)
  return false;
#undef BULKHEAD_BARE
}

// To count a deprecated member is not to use it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wshadow"

/// Gives each of the N members a name, and returns visit(Types<their types>, the members...).
template <std::size_t N, class T, class Visit>
constexpr auto bind(T& whole, Visit visit) {
#define BULKHEAD_BIND(n)                                                                  \
  if constexpr (N == n) {                                                                 \
    auto& [BULKHEAD_EACH_##n(BULKHEAD_NAME)] = whole;                                     \
    return visit(Types<BULKHEAD_EACH_##n(decltype)>{}, BULKHEAD_EACH_##n(BULKHEAD_NAME)); \
  } else
  BULKHEAD_ALL(BULKHEAD_BIND)
  return visit(Types<>{});
#undef BULKHEAD_BIND
}

#pragma GCC diagnostic pop

#undef BULKHEAD_BRACES
#undef BULKHEAD_NAME
#undef BULKHEAD_ALL
#undef BULKHEAD_EACH_1
#undef BULKHEAD_EACH_2
#undef BULKHEAD_EACH_3
#undef BULKHEAD_EACH_4
#undef BULKHEAD_EACH_5
#undef BULKHEAD_EACH_6
#undef BULKHEAD_EACH_7
#undef BULKHEAD_EACH_8
#undef BULKHEAD_EACH_9
#undef BULKHEAD_EACH_10
#undef BULKHEAD_EACH_11
#undef BULKHEAD_EACH_12
#undef BULKHEAD_EACH_13
#undef BULKHEAD_EACH_14
#undef BULKHEAD_EACH_15
#undef BULKHEAD_EACH_16
#undef BULKHEAD_EACH_17
#undef BULKHEAD_EACH_18
#undef BULKHEAD_EACH_19
#undef BULKHEAD_EACH_20
#undef BULKHEAD_EACH_21
#undef BULKHEAD_EACH_22
#undef BULKHEAD_EACH_23
#undef BULKHEAD_EACH_24
#undef BULKHEAD_EACH_25
#undef BULKHEAD_EACH_26
#undef BULKHEAD_EACH_27
#undef BULKHEAD_EACH_28
#undef BULKHEAD_EACH_29
#undef BULKHEAD_EACH_30
#undef BULKHEAD_EACH_31
#undef BULKHEAD_EACH_32

// --- counting by {} ---

/// N initialisers for a T, which are {}.
template <class T, std::size_t N>
struct ByBraces {
  static constexpr std::size_t kCount = N;

  /// Whether X fits in place P.
  template <std::size_t P, class X>
  static constexpr bool fits() {
    return takes_braces<T, P, X>();
  }
  /// Whether a member's own type is an unnamed union. A class whose first member is one takes what
  /// converts to it as well, but takes it in braces too.
  static constexpr bool has_unnamed_union() { return one_takes_bare<T, N, Only<UnnamedUnion>>(); }
};

// --- counting by conversions ---

/// Whether T takes N conversions.
template <class T, std::size_t... N>
constexpr bool takes(std::index_sequence<N...>) {
  return requires { T{Repeat<Anything<T>, N>{}...}; };
}

/// Whether T takes conversions, then X, then conversions.
template <class T, class X, std::size_t... Before, std::size_t... After>
constexpr bool takes(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { T{Repeat<Anything<T>, Before>{}..., X{}, Repeat<Anything<T>, After>{}...}; };
}

/// Whether T takes conversions, then {Inside}, then conversions.
template <class T, std::size_t... Before, class... Inside, std::size_t... After>
constexpr bool takes(std::index_sequence<Before...>, Types<Inside...>,
                     std::index_sequence<After...>) {
  return requires {
    T{Repeat<Anything<T>, Before>{}..., {Inside{}...}, Repeat<Anything<T>, After>{}...};
  };
}

template <std::size_t N>
inline constexpr std::make_index_sequence<N> kTimes{};

/// The most conversions that T takes, where the elements of arrays count. Fewer may not do, when
/// the last member cannot be made from nothing.
template <class T, std::size_t N = 1, bool Found = false>
constexpr std::size_t most_conversions() {
  constexpr bool fits = takes<T>(kTimes<N>);
  if constexpr (Found && !fits) {
    return N - 1;
  } else if constexpr (N > kMostElements) {
    return kUnknown;
  } else {
    return most_conversions<T, N + 1, fits>();
  }
}

/// How many conversions stand for the member that takes the one at P, of Count in all: as many as
/// can be left out when {} is written in their place, or {conversions}, if {} does not fit.
template <class T, std::size_t Count, std::size_t P, std::size_t Width = 1>
constexpr std::size_t width_by_braces() {
  if constexpr (P + Width > Count) {
    return 0;
  } else if constexpr (takes<T>(kTimes<P>, Types<>{}, kTimes<Count - P - Width>)) {
    return Width;
  } else {
    return width_by_braces<T, Count, P, Width + 1>();
  }
}

template <class T, std::size_t Count, std::size_t P, class... Inside>
constexpr std::size_t width_by_elements(Types<Inside...> inside) {
  constexpr std::size_t kWidth = sizeof...(Inside);
  if constexpr (P + kWidth > Count) {
    return 1;
  } else if constexpr (takes<T>(kTimes<P>, inside, kTimes<Count - P - kWidth>) &&
                       !takes<T>(kTimes<P>, inside, kTimes<Count - P - kWidth + 1>)) {
    return kWidth;
  } else {
    return width_by_elements<T, Count, P>(Types<Inside..., Anything<T>>{});
  }
}

template <class T, std::size_t Count, std::size_t P>
constexpr std::size_t width() {
  constexpr std::size_t kByBraces = width_by_braces<T, Count, P>();
  if constexpr (kByBraces != 0) {
    return kByBraces;
  } else {
    return width_by_elements<T, Count, P>(Types<Anything<T>, Anything<T>>{});
  }
}

/// Count initialisers for a T, which are conversions.
template <class T, std::size_t Count>
struct ByConversions {
  static constexpr std::size_t kCount = Count;

  template <std::size_t P, class X>
  static constexpr bool fits() {
    return takes<T, X>(kTimes<P>, kTimes<Count - P - 1>);
  }
  template <std::size_t P = 0>
  static constexpr bool has_unnamed_union() {
    if constexpr (P == Count) {
      return false;
    } else {
      using X = Only<UnnamedUnion>;
      constexpr std::size_t kNext = P + width<T, Count, P>();
      if constexpr (fits<P, X>()) {
        if constexpr (!takes<T>(kTimes<P>, Types<X>{}, kTimes<Count - kNext>)) return true;
      }
      return has_unnamed_union<kNext>();
    }
  }
};

/// How many members take Count conversions.
template <class T, std::size_t Count, std::size_t P = 0>
constexpr std::size_t members_taking() {
  if constexpr (P == Count) {
    return 0;
  } else {
    return 1 + members_taking<T, Count, P + width<T, Count, P>()>();
  }
}

// --- both ---

/// How many bases T has; they stand before its members.
template <class T, class Lists, std::size_t P = 0>
constexpr std::size_t bases() {
  if constexpr (P == Lists::kCount) {
    return P;
  } else if constexpr (Lists::template fits<P, Only<Base<T>>>()) {
    return bases<T, Lists, P + 1>();
  } else {
    return P;
  }
}

/// Whether X fits one of the first initialisers.
template <class X, class Lists, std::size_t... P>
constexpr bool fits_any(std::index_sequence<P...>) {
  return (Lists::template fits<P, X>() || ...);
}

/// How many members T has, which has Elements of members and bases together.
template <class T, class Lists, std::size_t Elements>
constexpr std::size_t without_bases() {
  constexpr std::size_t kBases = bases<T, Lists>();
  if constexpr (fits_any<Only<FullBase<T>>, Lists>(kTimes<kBases>) || Lists::has_unnamed_union() ||
                Elements - kBases > kMost) {
    return kUnknown;
  } else {
    return Elements - kBases;
  }
}

template <class T>
constexpr std::size_t count() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> ||
                requires { sizeof(std::tuple_size<T>); }) {
    return kUnknown;
  } else {
    constexpr std::size_t kBraces = most_braces<T>();
    if constexpr (kBraces > kMost) {
      return kUnknown;
    } else if constexpr (takes_braces<T, kBraces>() && !takes_braces<T, kBraces, Anything<T>>()) {
      return without_bases<T, ByBraces<T, kBraces>, kBraces>();
    } else {
      constexpr std::size_t kConversions = most_conversions<T>();
      if constexpr (kConversions == kUnknown) {
        return kUnknown;
      } else if constexpr (takes<T>(kTimes<kConversions>, Types<>{}, kTimes<0>)) {
        return kUnknown;
      } else {
        return without_bases<T, ByConversions<T, kConversions>,
                             members_taking<T, kConversions>()>();
      }
    }
  }
}

/// How many members the aggregate T has, its bases not counted, or kUnknown.
template <class T>
inline constexpr std::size_t kCount = count<T>();

// --- what the members are ---

struct TypesOf {
  template <class List, class... Members>
  constexpr List operator()(List list, const Members&...) const {
    return list;
  }
};

/// Types<the members' declared types>, of an aggregate T whose kCount is known. References stay
/// references.
template <class T>
using Of = decltype(bind<kCount<T>>(std::declval<T&>(), TypesOf{}));

/// An object to name the members of; there is none.
template <class T>
struct Example {
  static T value;
};

template <std::size_t I>
struct AddressOf {
  template <class List, class First, class... Rest>
  constexpr const volatile void* operator()(List list, const First& first,
                                            const Rest&... rest) const {
    if constexpr (I == 0) {
      return __builtin_addressof(first);
    } else {
      return AddressOf<I - 1>{}(list, rest...);
    }
  }
};

/// Stands for a member so that a compiler that prints it shows the member's name. It has none if
/// there is a reference or a bit-field beside it: those have no address.
struct Named {
  const volatile void* member;
};

template <class T, std::size_t I>
constexpr Named name() {
  return Named{bind<kCount<T>>(Example<T>::value, AddressOf<I>{})};
}

}  // namespace members
}  // namespace bulkhead
