/// Signals: what travels between actors. For the typed shells of this library; users send messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "bulkhead/delivery.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/type_name.hpp"

namespace bulkhead {

struct Signal;

/// Which of the messages that wait for an actor come first: those of a higher priority, and among
/// those of one the oldest. Ordinary ones wait their turn.
enum class Priority : std::uint8_t { kOrdinary, kInfo, kSystem, kSignal };

/// What can be done with a signal, made once per kind of message and receiver.
struct SignalOps {
  /// Runs the receiver's handler, then destroys the payload. Returns the signal, for the caller to
  /// release, or null when it has released it itself.
  Signal* (*deliver)(void* actor, Signal* signal);
  /// Destroys the payload without running a handler, and tells whoever waits for its outcome.
  void (*destroy)(Signal* signal, DropCause cause);
  /// The message's type.
  std::string_view name;
  Priority priority = Priority::kOrdinary;
  /// Makes the payload anew in its place, from memory that is current, for its way over the wall
  /// around an isolated actor; null when it is no more than its bytes. Throws what making it
  /// throws, and std::logic_error when it cannot cross: then it is as it was.
  void (*cross)(Signal* signal) = nullptr;
  /// Of what is asked: at which byte of the signal it says where its answer goes (core::ReplyTo).
  /// 0: it is not.
  std::uint8_t reply_at = 0;
};

/// The head of every signal. The payload follows it, aligned.
struct Signal {
  Signal* next;  // the queue's that holds it
  const SignalOps* ops;
  std::uint32_t generation;  // of the incarnation that it is for
  std::uint16_t pool;        // whose memory it is
  std::uint8_t size_class;
  std::uint8_t flags;

  /// Set when the message was counted against a bounded mailbox.
  static constexpr std::uint8_t kBounded = 1;
  /// Set when nothing is lost when it is dropped: its message has stayed with the sender, who
  /// learns what becomes of it, or it carries none.
  static constexpr std::uint8_t kLosesNothing = 2;
  /// Set when it does not wait for its turn: the receiver is to be unwound.
  static constexpr std::uint8_t kUrgent = 4;
  /// Set when its place in the queue is in front of ordinary ones, as its priority says.
  static constexpr std::uint8_t kFirst = 8;
  /// Set when its payload's memory is not its receiver's: it is yet to cross.
  static constexpr std::uint8_t kCrosses = 16;
  /// Set when its payload lies in the memory of the isolated actor that has it in hand.
  static constexpr std::uint8_t kCrossed = 32;
  /// Set when a timer sends it again and again: it is not handled when that has ended since.
  static constexpr std::uint8_t kTick = 64;
  /// Set when it was traced how it was sent, so that it is how it is taken.
  static constexpr std::uint8_t kTraced = 128;
};

static_assert(sizeof(Signal) == 24, "a signal of 64 bytes leaves 40 for the message");

template <class M>
inline constexpr std::size_t kPayloadOffset = (sizeof(Signal) + alignof(M) - 1) & ~(alignof(M) - 1);

template <class M>
inline constexpr std::size_t kSignalBytes = kPayloadOffset<M> + sizeof(M);

template <class M>
[[nodiscard]] M* payload(Signal* signal) noexcept {
  return std::launder(
      reinterpret_cast<M*>(reinterpret_cast<std::byte*>(signal) + kPayloadOffset<M>));
}

/// The untyped core of sending. Between prepare and commit nothing may block; but an actor may be
/// made to give way there, and commit looks anew.
namespace core {

inline constexpr std::size_t kSmallestBlock = 64;
inline constexpr std::uint8_t kBlockClasses = 7;
inline constexpr std::size_t kLargestBlock = kSmallestBlock << (kBlockClasses - 1);
inline constexpr std::uint8_t kHeapClass = 0xff;

/// The class of pool blocks with at least `bytes` bytes; kHeapClass when there is none.
[[nodiscard]] constexpr std::uint8_t block_class(std::size_t bytes) noexcept {
  if (bytes <= kSmallestBlock) return 0;
  if (bytes > kLargestBlock) return kHeapClass;
  return static_cast<std::uint8_t>(64 - __builtin_clzll((bytes - 1) / kSmallestBlock));
}

/// Of a message: is it no more than its bytes, so that it crosses a wall as it is?
enum class Stays : bool { kNo, kAsItIs };

struct Admission {
  Signal* signal;  // memory for the message, or null: then `why` says what stood against it
  Delivery why;
};

/// Any thread. Looks whether `to` can take a message and reserves memory for it. In a handler whose
/// core's pool is full of unhandled messages it first lets their receivers run.
[[nodiscard]] Admission prepare(Pid to, std::size_t bytes, std::uint8_t size_class,
                                Stays stays) noexcept;
/// As prepare, but takes no place in a bounded mailbox: for what must always get through.
[[nodiscard]] Admission prepare_unbounded(Pid to, std::size_t bytes, std::uint8_t size_class,
                                          Stays stays) noexcept;
/// Any thread: gives a prepared signal back unused.
void withdraw(Pid to, Signal* signal) noexcept;
/// Any thread: hands a prepared signal over. It will be delivered or dropped, and counted, once.
void commit(Pid to, Signal* signal, const SignalOps* ops) noexcept;
/// The same for a message that is not ordinary.
void commit_first(Pid to, Signal* signal, const SignalOps* ops) noexcept;
/// Any thread: prepares and commits a message of up to 16 bytes that is no more than its bytes.
[[nodiscard]] Delivery send_words(Pid to, const SignalOps* ops, std::uint64_t first,
                                  std::uint64_t second) noexcept;
/// Any thread: counts a message that was refused, and is being destroyed by its sender.
void count_refused(Pid to, Delivery why, std::string_view message) noexcept;
/// The same; returns `why`.
Delivery refused(Pid to, Delivery why, const SignalOps* ops) noexcept;
/// The pool of signals that isolated actors send: they lie, with all that they hold, in a heap of
/// their own.
inline constexpr std::uint16_t kMessageHeap = 0xfffd;
/// Has the payload of such a one, which its sender has made, leave the sender's memory. Throws what
/// crossing throws; then the payload is as it was.
void seal(Signal* signal, const SignalOps* ops);
/// In a handler: releases the signal in hand before the handler's end.
void release_in_hand(Signal* signal) noexcept;

/// What a receiver makes of a signal in its queue: it stays, is taken, or is of no use any more; or
/// it stays, and what is behind it is not looked at.
enum class Look : std::uint8_t { kLeave, kTake, kDiscard, kLeaveAll };
/// May put another signal in its place, and then the first one's payload is gone.
using LookAt = Look (*)(void* context, Signal*& signal);

}  // namespace core

}  // namespace bulkhead
