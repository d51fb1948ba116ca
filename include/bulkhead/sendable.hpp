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

/// Messages and replies are passed by value, over the stacks of sender and receiver: of 64 KiB, if
/// nobody says otherwise. A larger type needs a kSendable of its own.
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
    if (name[i] == ';') return {};  // where the name ends
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
template <class T, bool kTrusted>
constexpr auto find_parts() {
  using Class = std::remove_cv_t<T>;
  if constexpr (std::is_array_v<T>) {
    return Types<std::remove_extent_t<T>>{};
  } else if constexpr (!std::is_class_v<T> || kTrusted || !kComplete<T> || is_empty<T>()) {
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
using Parts = decltype(find_parts<T, kSpecialised<std::remove_cv_t<T>>>());

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

}  // namespace sendable

/// A type that may be sent.
template <class T>
concept Sendable = sendable::can_travel<T>() &&
    static_cast<bool>(kSendable<std::remove_const_t<T>>);

}  // namespace bulkhead
