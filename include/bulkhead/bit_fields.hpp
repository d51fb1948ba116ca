/// Whether an aggregate has bit-fields: members that nothing can refer to.
#pragma once

#include <type_traits>

#include "bulkhead/members.hpp"

namespace bulkhead::members {

/// Room for a T that is not there.
template <class T>
union Absent {
  char nothing;
  T value;
  constexpr Absent() noexcept : nothing() {}
  constexpr ~Absent() {}
};
template <class T>
inline Absent<T> absent;

/// Refers to the members of one that is not there; which is no constant if that means to read one.
template <class T>
constexpr bool refer_to_members(Absent<T>& none) {
  bind<kCount<T>>(none.value, AddressOf<0>{});
  return true;
}
template <class T>
constexpr bool refer_to_members() {
  Absent<T> none;
  return refer_to_members(none);
}

// Two ways: clang++ has no constant Absent<T> unless a T can be destroyed in one, and g++ would
// define `absent`.
template <class T>
constexpr bool can_refer_to_members() {
  if constexpr (kCount<T> == 0) {
    return true;
  } else if constexpr (requires { typename std::bool_constant<refer_to_members<T>()>; }) {
    return true;
  } else {
    return requires { typename std::bool_constant<refer_to_members(absent<T>)>; };
  }
}

/// Whether an aggregate T whose kCount is known has a bit-field. It has no references.
template <class T>
inline constexpr bool kHasBitFields = !can_refer_to_members<T>();

}  // namespace bulkhead::members
