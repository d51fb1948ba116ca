// What the models of this folder and of core/ share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "explorer.hpp"

namespace bulkhead::sync {

using model::ModelSync;

inline constexpr auto kRelaxed = std::memory_order_relaxed;
inline constexpr auto kAcquire = std::memory_order_acquire;
inline constexpr auto kRelease = std::memory_order_release;
inline constexpr auto kAcqRel = std::memory_order_acq_rel;
inline constexpr auto kSeqCst = std::memory_order_seq_cst;

/// With BULKHEAD_MODEL_DEEP=1 the bounds are larger, and a run takes hours instead of seconds.
[[nodiscard]] inline bool deep() {
  const char* word = std::getenv("BULKHEAD_MODEL_DEEP");
  return word != nullptr && std::string_view(word) == "1";
}

/// Weak memory, and at most so many preemptions: one more when deep.
[[nodiscard]] inline model::Options within(unsigned preemptions) {
  model::Options options{.preemption_bound = preemptions, .weak = true};
  if (deep()) {
    options.preemption_bound = preemptions == model::kUnbounded ? preemptions : preemptions + 1;
    options.max_executions = 5'000'000'000;
  }
  return options;
}

/// Weak memory, and every interleaving there is.
[[nodiscard]] inline model::Options full() { return within(model::kUnbounded); }

/// The same, for models that are too large: unless deep, with one stale read or store at most.
[[nodiscard]] inline model::Options few_stale(unsigned preemptions) {
  model::Options options = within(preemptions);
  if (!deep()) options.stale_bound = 1;
  return options;
}

/// Memory as if it were not weak, for what is wrong with that already.
inline constexpr model::Options kSequential{.preemption_bound = 2};

/// An operation on an atomic variable, as it is written.
struct Written {
  enum Op : std::uint8_t { kLoad, kStore, kExchange, kAdd, kSub, kOr, kAnd, kSwap, kWeakSwap };
  Op op;  // of a swap: if it succeeds
  std::memory_order order;
  std::uint64_t value;  // that is stored, added and so on
  std::size_t bytes;    // of the variable
};

/// ModelSync, but for memory orders: Rule::order(Written) says which are used.
template <class Rule>
struct Weakened : ModelSync {
  template <class T>
  struct atomic : ModelSync::atomic<T> {
    using Base = ModelSync::atomic<T>;
    using Base::Base;
    using Order = std::memory_order;

    static constexpr Order of(Written::Op op, Order order, T value = T()) {
      return Rule::order(Written{op, order, model::to_bits(value), sizeof(T)});
    }
    [[nodiscard]] T load(Order order = kSeqCst) const {
      return Base::load(of(Written::kLoad, order));
    }
    void store(T value, Order order) { Base::store(value, of(Written::kStore, order, value)); }
    T exchange(T value, Order order) {
      return Base::exchange(value, of(Written::kExchange, order, value));
    }
    T fetch_add(T by, Order order) { return Base::fetch_add(by, of(Written::kAdd, order, by)); }
    T fetch_sub(T by, Order order) { return Base::fetch_sub(by, of(Written::kSub, order, by)); }
    T fetch_or(T bits, Order order) { return Base::fetch_or(bits, of(Written::kOr, order, bits)); }
    T fetch_and(T bits, Order order) {
      return Base::fetch_and(bits, of(Written::kAnd, order, bits));
    }
    bool compare_exchange_strong(T& seen, T value, Order yes, Order no) {
      return Base::compare_exchange_strong(seen, value, of(Written::kSwap, yes, value), no);
    }
    bool compare_exchange_weak(T& seen, T value, Order yes, Order no) {
      return Base::compare_exchange_weak(seen, value, of(Written::kWeakSwap, yes, value), no);
    }
  };
};

/// A pointer that the explorer watches, for templates that expect a plain one as a link.
template <class T>
class WatchedLink {
 public:
  WatchedLink& operator=(T* to) {
    to_.write(to);
    return *this;
  }
  operator T*() const { return to_.read(); }  // NOLINT: stands for a pointer

 private:
  ModelSync::plain<T*> to_{nullptr};
};

/// What a core sleeps in: an event counter in the kernel, which keeps a wake until a wait takes it.
class ModelEvent {
 public:
  void wake() {
    if (word_.exchange(1, kAcqRel) == 0) ModelSync::futex_wake(word_, 1);
  }
  /// Owner: returns when there is a wake, and takes it.
  void wait() {
    do {
      ModelSync::futex_wait(word_, 0);
    } while (!look());
  }
  /// Owner: also returns, false then, when time is up.
  bool wait_for_some_time() {
    ModelSync::futex_wait_for(word_, 0, 1);
    return look();
  }
  /// Owner: takes a wake if there is one.
  bool look() { return word_.exchange(0, kAcqRel) != 0; }

 private:
  ModelSync::atomic<std::uint32_t> word_{0};
};

/// A lock.
class ModelMutex {
 public:
  void lock() {
    std::uint32_t free = 0;
    while (!word_.compare_exchange_strong(free, 1, kAcquire, kRelaxed)) {
      free = 0;
      ModelSync::spin_hint();
    }
  }
  void unlock() { word_.store(0, kRelease); }

 private:
  ModelSync::atomic<std::uint32_t> word_{0};
};

}  // namespace bulkhead::sync
