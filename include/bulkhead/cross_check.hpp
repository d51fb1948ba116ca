/// What the compiler says about messages that cannot cross the wall around an isolated actor. See
/// crossable.hpp for what can.
#pragma once

#include <cstddef>
#include <type_traits>

#include "bulkhead/crossable.hpp"
#include "bulkhead/message.hpp"

namespace bulkhead {

namespace crossing {

template <class Within, class... Parts>
constexpr std::size_t first_unclean(Types<Parts...>) {
  return sendable::first_false({kClean<Parts, Within>...});
}

/// Does not compile. The compiler's message tells which Member is at fault, at which Position of
/// what Holder, by which Name; the lines below it lead to the message.
template <class Holder, class Member, int Position, auto Name, class Within>
constexpr void refuse() {
  static_assert(kFault<Member> != Fault::kUnsendable,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "pointer, reference or view, which may be sent only since bulkhead::kSendable says "
                "so; say by bulkhead::Crossing how it crosses");
  static_assert(kFault<Member> != Fault::kShared,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::shared_ptr or std::weak_ptr, which shares memory; hold the value, or a "
                "std::unique_ptr (or, for much data, a bulkhead::Parcel)");
  static_assert(kFault<Member> != Fault::kFunction,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::function or the like, and nobody knows what is in that; send the data, or a "
                "pointer to a function");
  static_assert(kFault<Member> != Fault::kAny,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::any, and nobody knows what is in that; use std::variant");
  static_assert(kFault<Member> != Fault::kException,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::exception_ptr, which shares the exception; send its text");
  static_assert(kFault<Member> != Fault::kLambda,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "lambda that captures something, and what that is cannot be looked into; send a "
                "struct of what it captures");
  static_assert(kFault<Member> != Fault::kUnion,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "union that is not trivially copyable; use std::variant");
  static_assert(kFault<Member> != Fault::kDeleter,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::unique_ptr with a deleter of its own, and who made what it owns is unknown; "
                "use std::default_delete, or say by bulkhead::Crossing how the class that holds "
                "it crosses");
  static_assert(kFault<Member> != Fault::kAllocator,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "container with an allocator of its own; use the standard allocator");
  static_assert(kFault<Member> != Fault::kPolymorphic,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::unique_ptr to a class with virtual functions, and the object may be of a "
                "derived one; use std::variant, or make the class final");
  static_assert(kFault<Member> != Fault::kUnboundedArray,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "std::unique_ptr to an array whose length is unknown; use std::vector");
  static_assert(kFault<Member> != Fault::kIncomplete,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds "
                "something whose type is only declared, not defined");
  static_assert(kFault<Member> != Fault::kOwnMoves,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds a "
                "struct with a destructor, copy or move of its own, for which its members may not "
                "be all; say by bulkhead::Crossing how it crosses");
  static_assert(kFault<Member> != Fault::kBadCrossing,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds "
                "something whose bulkhead::Crossing has no `static T cross(const T& from)`");
  static_assert(kFault<Member> != Fault::kOpaque,
                "bulkhead: this message cannot cross to or from an isolated actor: it holds "
                "a class that is not trivially copyable and cannot be looked into (it has private "
                "members, a base, bit-fields, or too many members); say by bulkhead::Crossing how "
                "it crosses");
  if constexpr (kFault<Member> == Fault::kNone) {
    using Deeper = typename Grown<Within, Member>::Type;
    using Next = sendable::Part<Member, Parts<Member>, first_unclean<Deeper>(Parts<Member>{})>;
    refuse<Member, typename Next::Type, Next::kPosition, Next::kName, Deeper>();
  }
}

/// The same as check_crossable for what is part of a message.
template <class M>
constexpr void check_part() {
  if constexpr (kFault<M> != Fault::kNone) {
    refuse<M, M, 0, sendable::Itself{}, Types<>>();
  } else if constexpr (!kClean<M, Types<>>) {
    using Within = typename Grown<Types<>, M>::Type;
    using Next = sendable::Part<M, Parts<M>, first_unclean<Within>(Parts<M>{})>;
    refuse<M, typename Next::Type, Next::kPosition, Next::kName, Within>();
  }
}

}  // namespace crossing

/// Compiles if an M may cross, and says in plain words what is wrong if not. It does nothing.
template <class M>
constexpr void check_crossable() {
  check_sendable<M>();
  if constexpr (Sendable<M>) crossing::check_part<M>();
}

}  // namespace bulkhead
