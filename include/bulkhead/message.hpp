/// What the compiler says about messages and replies that cannot be sent. See sendable.hpp for what
/// can.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "bulkhead/sendable.hpp"

namespace bulkhead {

namespace sendable {

// --- saying what is wrong ---

/// What stands for a name where there is none.
struct NoName {};
struct ArrayElement {};
struct TemplateArgument {};
struct Itself {};

template <class T, std::size_t I>
constexpr auto name_of_part() {
  using Class = std::remove_cv_t<T>;
  if constexpr (std::is_array_v<T>) {
    return ArrayElement{};
  } else if constexpr (!kStdTemplate<Class>.empty()) {
    return TemplateArgument{};
  } else if constexpr (requires {
                         typename std::bool_constant<(members::name<Class, I>(), true)>;
                       }) {
    return members::name<Class, I>();
  } else {
    return NoName{};
  }
}

template <std::size_t I, class First, class... Rest>
constexpr auto type_at(Types<First, Rest...>) {
  if constexpr (I == 0) {
    return std::type_identity<First>{};
  } else {
    return type_at<I - 1>(Types<Rest...>{});
  }
}

constexpr std::size_t first_false(std::initializer_list<bool> answers) {
  std::size_t i = 0;
  for (const bool answer : answers) {
    if (!answer) break;
    ++i;
  }
  return i;
}

/// Part I of T, whose parts are List.
template <class T, class List, std::size_t I>
struct Part {
  using Type = typename decltype(type_at<I>(List{}))::type;
  static constexpr int kPosition = static_cast<int>(I) + 1;
  static constexpr auto kName = name_of_part<T, I>();
};

template <class Within, class... Parts>
constexpr std::size_t first_unclean(Types<Parts...>) {
  return first_false({kClean<Parts, Within>...});
}

template <class... Members>
constexpr std::size_t first_unmovable(Types<Members...>) {
  return first_false({(std::is_reference_v<Members> ||
                       std::is_move_constructible_v<std::remove_all_extents_t<Members>>)...});
}

template <class T>
constexpr bool has_unmovable() {
  if constexpr (members::kCount<T> == members::kUnknown) {
    return false;
  } else {
    return first_unmovable(members::Of<T>{}) < members::kCount<T>;
  }
}

/// Does not compile. The compiler's message tells which Member is at fault, at which Position of
/// what Holder, by which Name; the lines below it lead to the message.
template <class Holder, class Member, int Position, auto Name, class Within>
constexpr void refuse() {
  static_assert(kFault<Member> != Fault::kReference,
                "bulkhead: this message cannot be sent: it holds a reference, which would "
                "dangle; hold the value");
  static_assert(kFault<Member> != Fault::kVolatile,
                "bulkhead: this message cannot be sent: it holds something volatile, which "
                "others change");
  static_assert(kFault<Member> != Fault::kPointer,
                "bulkhead: this message cannot be sent: it holds a raw pointer, which would "
                "dangle; hold the value, or a std::unique_ptr");
  static_assert(kFault<Member> != Fault::kCharPointer,
                "bulkhead: this message cannot be sent: it holds a pointer to characters, which "
                "would dangle; send std::string instead");
  static_assert(kFault<Member> != Fault::kMemberPointer,
                "bulkhead: this message cannot be sent: it holds a pointer to a member; send a "
                "value that says which member is meant");
  static_assert(kFault<Member> != Fault::kStringView,
                "bulkhead: this message cannot be sent: it holds a std::string_view, which would "
                "dangle; send std::string instead");
  static_assert(kFault<Member> != Fault::kSpan,
                "bulkhead: this message cannot be sent: it holds a std::span, which would "
                "dangle; send std::vector or std::array instead");
  static_assert(kFault<Member> != Fault::kReferenceWrapper,
                "bulkhead: this message cannot be sent: it holds a std::reference_wrapper, which "
                "would dangle; hold the value");
  static_assert(kFault<Member> != Fault::kView,
                "bulkhead: this message cannot be sent: it holds a view of something else or a "
                "lock on it, which would dangle; hold the value");
  static_assert(kFault<Member> != Fault::kIterator,
                "bulkhead: this message cannot be sent: it holds an iterator, which would "
                "dangle; send the element, its index or its key");
  static_assert(kFault<Member> != Fault::kSharedMutable,
                "bulkhead: this message cannot be sent: it holds a std::shared_ptr or "
                "std::weak_ptr to what can be written to, which would be a data race; make it "
                "one to const, or send std::unique_ptr");
  static_assert(kFault<Member> != Fault::kForeignMemory,
                "bulkhead: this message cannot be sent: it holds a std::pmr container, whose "
                "memory belongs to its sender; use the standard allocator");
  static_assert(kFault<Member> != Fault::kDenied,
                "bulkhead: this message cannot be sent: it holds something for which "
                "bulkhead::kSendable is specialised to false");
  if constexpr (kFault<Member> == Fault::kNone) {
    using Deeper = typename Grown<Within, Member>::Type;
    using Next = Part<Member, Parts<Member>, first_unclean<Deeper>(Parts<Member>{})>;
    refuse<Member, typename Next::Type, Next::kPosition, Next::kName, Deeper>();
  }
}

/// The same for what cannot be moved.
template <class Holder, class Member, int Position, auto Name>
constexpr void refuse_unmovable() {
  using Element = std::remove_all_extents_t<Member>;
  using Class = std::remove_cv_t<Element>;
  if constexpr (has_unmovable<Class>()) {
    using Members = members::Of<Class>;
    using Next = Part<Class, Members, first_unmovable(Members{})>;
    refuse_unmovable<Class, typename Next::Type, Next::kPosition, Next::kName>();
  } else {
    static_assert(std::is_move_constructible_v<Element>,
                  "bulkhead: this message cannot be sent: it holds something that cannot be moved, "
                  "such as a mutex, an atomic, or a const std::unique_ptr; hold it by a "
                  "std::unique_ptr");
  }
}

template <class M>
constexpr void check_object() {
  static_assert(!std::is_abstract_v<M>,
                "bulkhead: this message cannot be sent: its class is abstract; send an object of a "
                "derived class, or a std::unique_ptr to it");
  static_assert(
      std::is_nothrow_destructible_v<M>,
      "bulkhead: this message cannot be sent: its destructor is private or may throw; make "
      "it public and noexcept");
  static_assert(alignof(M) <= kMaxMessageAlignment,
                "bulkhead: this message cannot be sent: it is aligned to more than 64 bytes");
  static_assert(fits_on_stacks<M>(),
                "bulkhead: this message cannot be sent: it is larger than 16 KiB, and would be "
                "passed over the stacks of its sender and receiver; hold it in a std::unique_ptr "
                "or a std::vector (or, if all of them have larger stacks, specialise "
                "bulkhead::kSendable to true)");
  if constexpr (!std::is_move_constructible_v<M> && !std::is_abstract_v<M> &&
                std::is_nothrow_destructible_v<M>) {
    refuse_unmovable<M, M, 0, Itself{}>();
  } else if constexpr (kFault<M> != Fault::kNone) {
    refuse<M, M, 0, Itself{}, Types<>>();
  } else if constexpr (!kClean<M, Types<>>) {
    using Within = typename Grown<Types<>, M>::Type;
    using Next = Part<M, Parts<M>, first_unclean<Within>(Parts<M>{})>;
    refuse<M, typename Next::Type, Next::kPosition, Next::kName, Within>();
  }
}

}  // namespace sendable

/// Compiles if an M may be sent, and says in plain words what is wrong if not. It does nothing.
template <class M>
constexpr void check_sendable() {
  static_assert(!std::is_reference_v<M>,
                "bulkhead: this message cannot be sent: it is a reference; send the value itself");
  static_assert(!std::is_array_v<M>,
                "bulkhead: this message cannot be sent: it is an array; send a std::array, or a "
                "struct that holds it");
  static_assert(std::is_object_v<M> || std::is_reference_v<M>,
                "bulkhead: this message cannot be sent: void and functions are not values");
  if constexpr (std::is_object_v<M> && !std::is_array_v<M>) {
    static_assert(sendable::kComplete<M>,
                  "bulkhead: this message cannot be sent: its type is only declared, not defined");
    if constexpr (sendable::kComplete<M>) sendable::check_object<M>();
  }
}

namespace sendable {
template <class Answer>
constexpr void name_reply() {
  static_assert(Sendable<Answer>,
                "bulkhead: this reply cannot be sent: what a handler returns, or gives to its "
                "Reply (Answer above), goes the way of a message; another error says what is wrong "
                "with it as one");
}
}  // namespace sendable

/// The same for what an ask is answered with, which travels as a message does; void will do.
template <class Answer>
constexpr void check_reply() {
  if constexpr (!std::is_void_v<Answer>) {
    sendable::name_reply<Answer>();
    check_sendable<Answer>();
  }
}

}  // namespace bulkhead
