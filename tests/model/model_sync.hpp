// ModelSync: what production templates are given instead of sync::RealSync when a model explores
// them. Same shape, but every operation is a place where another thread may come in between, and a
// load may read any value that the memory model allows.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "memory.hpp"
#include "sync/futex.hpp"

namespace bulkhead::model {

/// The name of the object that an address belongs to.
[[nodiscard]] std::string address_text(std::uint64_t address);
[[nodiscard]] std::string number_text(std::uint64_t number);
[[nodiscard]] std::string hex_text(std::uint64_t bits);

template <class T>
[[nodiscard]] std::uint64_t to_bits(const T& value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

/// How a value looks in a report. Give a type of your own a function `std::string model_text(T)`.
template <class T>
[[nodiscard]] std::string value_text(std::uint64_t bits) {
  if constexpr (requires(T value) { std::string(model_text(value)); }) {
    return model_text(from_bits<T>(bits));
  } else if constexpr (std::same_as<T, bool>) {
    return bits != 0 ? "true" : "false";
  } else if constexpr (std::is_pointer_v<T>) {
    return address_text(bits);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == sizeof bits) {
    return number_text(bits);
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(from_bits<T>(bits));
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(from_bits<std::underlying_type_t<T>>(bits));
  } else {
    return hex_text(bits);
  }
}

struct ValueType {
  std::string (*text)(std::uint64_t bits);
};

template <class T>
inline constexpr ValueType kValueType{&value_text<T>};

/// What an atomic is to the explorer. Outside of a run it is just a value.
struct Cell {
  Location* location = nullptr;
  std::uint64_t run = 0;
  std::uint64_t value = 0;
};

/// The operations of the running explorer.
struct Operations {
  static void create(Cell& cell, const void* owner, const ValueType& type);
  static void destroy(Cell& cell);
  static std::uint64_t load(Cell& cell, std::memory_order order);
  static void store(Cell& cell, std::uint64_t value, std::memory_order order);
  /// Returns the old value.
  static std::uint64_t modify(Cell& cell, Modify modify, std::uint64_t operand,
                              std::memory_order order, const char* name);
  static bool compare(Cell& cell, std::uint64_t& expected, std::uint64_t desired, Op op);
  static void fence(std::memory_order order);
  static sync::FutexWait wait(Cell& cell, std::uint32_t expected, Op op);
  static void wake(Cell& cell, int count);
  static void spin_hint();

  static void create(PlainHistory& history, std::uint64_t& run);
  static void destroy(PlainHistory& history, std::uint64_t run, const void* owner);
  static void read(PlainHistory& history, std::uint64_t run, const void* owner);
  static void write(PlainHistory& history, std::uint64_t run, const void* owner);
};

template <class T>
class ModelAtomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                "a modelled atomic holds up to 8 bytes that can be copied as bytes");

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  ModelAtomic() : ModelAtomic(T()) {}
  ModelAtomic(T value) {  // NOLINT: implicit, as in std::atomic
    cell_.value = to_bits(value);
    Operations::create(cell_, this, kValueType<T>);
  }
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;
  ~ModelAtomic() { Operations::destroy(cell_); }

  [[nodiscard]] T load(std::memory_order order = std::memory_order_seq_cst) const {
    return from_bits<T>(Operations::load(cell_, order));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    Operations::store(cell_, to_bits(value), order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return modify(to_bits(value), order, "exchange",
                  [](std::uint64_t, std::uint64_t operand) { return operand; });
  }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
    return compare(expected, desired, {.order = success, .failure = failure, .name = "cas"});
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired, order, on_failure(order));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) {
    return compare(expected, desired,
                   {.order = success, .failure = failure, .may_fail = true, .name = "cas weak"});
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_weak(expected, desired, order, on_failure(order));
  }

  T fetch_add(T operand,
              std::memory_order order = std::memory_order_seq_cst) requires std::integral<T> {
    return modify(to_bits(operand), order, "fetch_add",
                  [](std::uint64_t old, std::uint64_t by) { return narrow(old + by); });
  }
  T fetch_sub(T operand,
              std::memory_order order = std::memory_order_seq_cst) requires std::integral<T> {
    return modify(to_bits(operand), order, "fetch_sub",
                  [](std::uint64_t old, std::uint64_t by) { return narrow(old - by); });
  }
  T fetch_and(T operand,
              std::memory_order order = std::memory_order_seq_cst) requires std::integral<T> {
    return modify(to_bits(operand), order, "fetch_and",
                  [](std::uint64_t old, std::uint64_t by) { return old & by; });
  }
  T fetch_or(T operand,
             std::memory_order order = std::memory_order_seq_cst) requires std::integral<T> {
    return modify(to_bits(operand), order, "fetch_or",
                  [](std::uint64_t old, std::uint64_t by) { return old | by; });
  }
  T fetch_xor(T operand,
              std::memory_order order = std::memory_order_seq_cst) requires std::integral<T> {
    return modify(to_bits(operand), order, "fetch_xor",
                  [](std::uint64_t old, std::uint64_t by) { return old ^ by; });
  }

 private:
  friend struct ModelSync;

  static constexpr std::memory_order on_failure(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }
  static std::uint64_t narrow(std::uint64_t bits) noexcept {
    return sizeof(T) == sizeof bits ? bits : bits & ((std::uint64_t{1} << (sizeof(T) * 8)) - 1);
  }
  T modify(std::uint64_t operand, std::memory_order order, const char* name, Modify function) {
    return from_bits<T>(Operations::modify(cell_, function, operand, order, name));
  }
  bool compare(T& expected, T desired, const Op& op) {
    std::uint64_t bits = to_bits(expected);
    if (Operations::compare(cell_, bits, to_bits(desired), op)) return true;
    expected = from_bits<T>(bits);
    return false;
  }

  mutable Cell cell_;
};

/// Plain memory that changes hands; see sync::RealPlain. Two accesses that nothing orders, one of
/// them a write, are reported as a data race, whichever comes first.
template <class T>
class ModelPlain {
 public:
  ModelPlain() { Operations::create(history_, run_); }
  explicit ModelPlain(T value) : value_(static_cast<T&&>(value)) {
    Operations::create(history_, run_);
  }
  ModelPlain(const ModelPlain&) = delete;
  ModelPlain& operator=(const ModelPlain&) = delete;
  ~ModelPlain() { Operations::destroy(history_, run_, this); }

  [[nodiscard]] const T& read() const {
    Operations::read(history_, run_, this);
    return value_;
  }
  void write(T value) {
    Operations::write(history_, run_, this);
    value_ = static_cast<T&&>(value);
  }
  [[nodiscard]] T& edit() {
    Operations::write(history_, run_, this);
    return value_;
  }

 private:
  T value_{};
  mutable PlainHistory history_;
  std::uint64_t run_ = 0;
};

struct ModelSync {
  template <class T>
  using atomic = ModelAtomic<T>;
  template <class T>
  using plain = ModelPlain<T>;

  static void fence(std::memory_order order) { Operations::fence(order); }

  /// May also return for no reason, as often as Options::spurious allows.
  static void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected) {
    Operations::wait(word.cell_, expected, {.name = "futex_wait"});
  }
  /// May time out while others can go on, as often as Options::time_outs allows, and whenever they
  /// cannot.
  static sync::FutexWait futex_wait_for(atomic<std::uint32_t>& word, std::uint32_t expected,
                                        std::int64_t /*nanoseconds*/) {
    return Operations::wait(word.cell_, expected, {.may_fail = true, .name = "futex_wait_for"});
  }
  /// Wakes any `count` of those who sleep on the word.
  static void futex_wake(atomic<std::uint32_t>& word, int count) {
    Operations::wake(word.cell_, count);
  }
  /// The thread goes on when something that it has read since the last hint is out of date. A turn
  /// of a spinning loop must change nothing.
  static void spin_hint() { Operations::spin_hint(); }
};

}  // namespace bulkhead::model
