/// What may be sent: the check, at compile time, that a message keeps no hold on its sender.
///
/// A message is a value, and belongs to whoever has it in hand. So it may own whatever it likes, by
/// std::unique_ptr and by containers too, but it must not point into what its sender keeps: that
/// would dangle when the sender ends, and be a data race before that. Refused are
/// - pointers (but not those to functions, which live as long as the program), references, pointers
///   to members, iterators, std::string_view, std::span, and other views of the standard library;
/// - std::shared_ptr and std::weak_ptr to what is not const: both sides could write to it;
/// - std::pmr containers: their memory comes from a resource of the sender's;
/// - what cannot be moved, may throw when it is destroyed, is aligned to more than 64 bytes, or is
///   itself larger than 16 KiB: see kMaxMessageBytes.
///
/// An aggregate is looked into member by member, an array element by element, and a template of the
/// standard library is as good as the types it is made of: a std::map of strings to spans is
/// refused. What cannot be looked into is trusted: classes with constructors or private members,
/// lambdas, std::function, std::any, unions, types that are only declared, and the aggregates that
/// members::kMost tells of. For a type of one's own, kSendable has the last word.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "bulkhead/members.hpp"

namespace bulkhead {

namespace sendable {

template <class T>
struct Inspected {
  constexpr operator bool() const noexcept;  // NOLINT: it is what kSendable<T> would be
};

}  // namespace sendable

/// Whether a T may be sent. Specialise it for a type of your own that is trusted wrongly, or
/// refused wrongly; whoever holds one as a member is judged by that too:
///
///     template <>
///     inline constexpr bool bulkhead::kSendable<Handle> = false;
///
/// The declaration must come before the first use. Where it is not specialised, it converts to
/// bool; in a requires clause, write Sendable<T>.
template <class T>
inline constexpr sendable::Inspected<T> kSendable{};

/// Blocks of memory are lines of the cache: messages and actors are aligned to no more than one.
inline constexpr std::size_t kMaxMessageAlignment = 64;

/// Messages and replies are passed by value, over the stacks of sender and receiver, which are of 64
/// KiB if nobody says otherwise. A larger type needs a kSendable of its own.
inline constexpr std::size_t kMaxMessageBytes = 16 * 1024;

namespace sendable {

/// What is wrong with a type itself, whatever its parts are.
enum class Fault : unsigned char {
  kNone,
  kReference,
  kVolatile,
  kPointer,
  kCharPointer,
  kMemberPointer,
  kStringView,
  kSpan,
  kReferenceWrapper,
  kView,
  kIterator,
  kSharedMutable,
  kForeignMemory,
  kDenied,
};

// --- templates of the standard library, by name, so that none of its headers is needed ---

template <class T>
constexpr std::string_view spelled() noexcept {
  return __PRETTY_FUNCTION__;
}

inline constexpr std::size_t kSpelledAt = spelled<int>().find("T = int") + 4;

/// "vector" for "std::vector<int>" and "std::v2::vector<int>", and "" for what is not std.
constexpr std::string_view std_template(std::string_view name) {
  constexpr std::string_view kStd = "std::";
  if (!name.starts_with(kStd)) return {};
  std::size_t start = kStd.size();
  for (std::size_t i = start; i < name.size(); ++i) {
    if (name[i] == ':') start = i + 1;
    if (name[i] == '<') return name.substr(start, i - start);
  }
  return {};
}

/// The name of the template of namespace std that T is made from, or "".
template <class T>
inline constexpr std::string_view kStdTemplate = std_template(spelled<T>().substr(kSpelledAt));

/// Those that refer to what somebody else keeps.
struct Borrower {
  std::string_view name;
  Fault fault;
};

inline constexpr Borrower kBorrowers[] = {
    {"basic_string_view", Fault::kStringView},
    {"span", Fault::kSpan},
    {"reference_wrapper", Fault::kReferenceWrapper},
    {"unique_lock", Fault::kView},
    {"shared_lock", Fault::kView},
    {"initializer_list", Fault::kView},
    {"mdspan", Fault::kView},
    {"ref_view", Fault::kView},
    {"atomic_ref", Fault::kView},
    {"function_ref", Fault::kView},
    {"coroutine_handle", Fault::kView},
    {"polymorphic_allocator", Fault::kForeignMemory},
};

template <class First, class... Rest>
constexpr Fault std_fault(std::string_view name, Types<First, Rest...>) {
  if (name == "shared_ptr" || name == "weak_ptr") {
    return std::is_const_v<First> ? Fault::kNone : Fault::kSharedMutable;
  }
  for (const Borrower& borrower : kBorrowers) {
    if (name == borrower.name) return borrower.fault;
  }
  return Fault::kNone;
}

constexpr Fault std_fault(std::string_view, Types<>) { return Fault::kNone; }

/// Types<the arguments>, of a template of types, and of one like std::array.
template <class T>
struct Arguments {
  using List = Types<>;
};
template <template <class...> class Template, class... T>
struct Arguments<Template<T...>> {
  using List = Types<T...>;
};
template <template <class, std::size_t> class Template, class T, std::size_t N>
struct Arguments<Template<T, N>> {
  using List = Types<T>;
};

// --- what a type is, and what it is made of ---

template <class T, class List>
inline constexpr bool kOneOf = false;
template <class T, class... Others>
inline constexpr bool kOneOf<T, Types<Others...>> = (std::is_same_v<std::remove_cv_t<T>, Others> ||
                                                     ...);

template <class T>
inline constexpr bool kSpecialised = !std::is_same_v<decltype(kSendable<T>), const Inspected<T>>;

template <class T>
inline constexpr bool kComplete = requires {
  sizeof(T);
};

/// A class that holds nothing, such as most allocators, comparators and hash functions.
template <class T>
constexpr bool is_empty() {
  if constexpr (kComplete<T>) {
    return std::is_empty_v<T>;
  } else {
    return false;
  }
}

template <class T>
constexpr Fault class_fault() {
  if constexpr (kSpecialised<T>) {
    return kSendable<T> ? Fault::kNone : Fault::kDenied;
  } else if constexpr (!kComplete<T> || is_empty<T>()) {
    return Fault::kNone;
  } else if constexpr (requires { typename T::iterator_category; }) {
    return Fault::kIterator;
  } else if constexpr (!kStdTemplate<T>.empty()) {
    constexpr Fault kOfTemplate = std_fault(kStdTemplate<T>, typename Arguments<T>::List{});
    return kOfTemplate;
  } else {
    return Fault::kNone;
  }
}

template <class T>
constexpr Fault find_fault() {
  if constexpr (std::is_reference_v<T>) {
    return Fault::kReference;
  } else if constexpr (std::is_volatile_v<T>) {
    return Fault::kVolatile;
  } else if constexpr (std::is_pointer_v<T>) {
    using To = std::remove_pointer_t<T>;
    using Characters = Types<char, wchar_t, char8_t, char16_t, char32_t>;
    return std::is_function_v<To>   ? Fault::kNone
           : kOneOf<To, Characters> ? Fault::kCharPointer
                                    : Fault::kPointer;
  } else if constexpr (std::is_member_pointer_v<T>) {
    return Fault::kMemberPointer;
  } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
    return class_fault<std::remove_cv_t<T>>();
  } else {
    return Fault::kNone;
  }
}

template <class T>
inline constexpr Fault kFault = find_fault<T>();

/// Types<what T is made of>, in order; empty where there is nothing, or where T is trusted.
template <class T>
constexpr auto find_parts() {
  using Class = std::remove_cv_t<T>;
  if constexpr (std::is_array_v<T>) {
    return Types<std::remove_extent_t<T>>{};
  } else if constexpr (!std::is_class_v<T> || kSpecialised<Class> || !kComplete<T> ||
                       is_empty<T>()) {
    return Types<>{};
  } else if constexpr (!kStdTemplate<Class>.empty()) {
    return typename Arguments<Class>::List{};
  } else if constexpr (members::kCount<Class> != members::kUnknown) {
    return members::Of<Class>{};
  } else {
    return Types<>{};
  }
}

template <class T>
using Parts = decltype(find_parts<T>());

template <class T>
constexpr bool find_plain();

/// Whether T is clean, and no class in it is the user's: known without looking into any. Most
/// members are plain, and so are judged once, and not again in each message.
template <class T>
inline constexpr bool kPlain = find_plain<T>();

template <class... Part>
constexpr bool are_plain(Types<Part...>) {
  return (kPlain<Part> && ...);
}

template <class T>
constexpr bool find_plain() {
  if constexpr (kFault<T> != Fault::kNone) {
    return false;
  } else if constexpr (!std::is_class_v<T> && !std::is_array_v<T>) {
    return true;
  } else if constexpr (std::is_array_v<T> || !kStdTemplate<std::remove_cv_t<T>>.empty()) {
    return are_plain(Parts<T>{});
  } else {
    return is_empty<T>();
  }
}

/// Whether a T may be met again inside itself, which takes a class of the user's.
template <class T>
inline constexpr bool kMayRecur = kStdTemplate<std::remove_cv_t<T>>.empty() && std::is_class_v<T>;

/// List, with T at its end if T may recur.
template <class List, class T>
struct Grown {
  using Type = List;
};
template <class... Others, class T>
  requires kMayRecur<T>
struct Grown<Types<Others...>, T> {
  using Type = Types<Others..., std::remove_cv_t<T>>;
};

template <class T, class Within>
constexpr bool find_clean();

/// Whether a T may be part of a message: with neither a fault of its own nor one inside. A class
/// that is met again Within itself, such as the node of a list, is not looked into again.
template <class T, class Within>
inline constexpr bool kClean = find_clean<T, Within>();

template <class Within, class... Part>
constexpr bool are_clean(Types<Part...>) {
  return (kClean<Part, Within> && ...);
}

template <class T, class Within>
constexpr bool find_clean() {
  if constexpr (kPlain<T> || kOneOf<T, Within>) {
    return true;
  } else if constexpr (kFault<T> != Fault::kNone) {
    return false;
  } else {
    return are_clean<typename Grown<Within, T>::Type>(Parts<T>{});
  }
}

template <class T>
constexpr bool fits_on_stacks() {
  return sizeof(T) <= kMaxMessageBytes || kSpecialised<std::remove_cv_t<T>>;
}

/// Whether a T can be a message at all, whatever it carries.
template <class T>
constexpr bool can_travel() {
  if constexpr (!std::is_object_v<T> || std::is_array_v<T>) {
    return false;
  } else if constexpr (!kComplete<T>) {
    return false;
  } else {
    return std::is_move_constructible_v<T> && std::is_nothrow_destructible_v<T> &&
           alignof(T) <= kMaxMessageAlignment && fits_on_stacks<T>();
  }
}

template <class T>
constexpr Inspected<T>::operator bool() const noexcept {
  return can_travel<T>() && kClean<T, Types<>>;
}

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

/// A type that may be sent.
template <class T>
concept Sendable = sendable::can_travel<T>() &&
    static_cast<bool>(kSendable<std::remove_const_t<T>>);

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
