/// Watches: that a descriptor is ready comes as a message, so that nobody waits for it.
#pragma once

#include <concepts>
#include <cstdint>

#include "bulkhead/address.hpp"
#include "bulkhead/handler.hpp"
#include "bulkhead/net/descriptor.hpp"
#include "bulkhead/net/error.hpp"
#include "bulkhead/record_ref.hpp"
#include "bulkhead/this_actor.hpp"

namespace bulkhead::net {

/// What a watch is to tell of.
enum class Interest : std::uint8_t { kReadable = 1, kWritable = 2, kBoth = 3 };

/// A watch of an actor, for telling it from its others, and for ending it.
class Watch : public RecordRef<Watch> {
 public:
  using RecordRef::RecordRef;
};

/// The message of a watch: what could be done without waiting when it was sent. That something can
/// be read also says that there is an end, or a failure, to be read, and that a listener has a
/// connection. Both are false when somebody else was faster.
struct Ready {
  Watch watch;
  bool readable;
  bool writable;
};

/// As watch, by a process identifier; `message` is how the actor takes a Ready.
[[nodiscard]] Result<Watch> watch_by(Pid self, const Descriptor& descriptor, Interest interest,
                                     const SignalOps* message);

/// What has a descriptor: a Stream, a Listener.
template <class T>
concept HasDescriptor = requires(const T& it) {
  { it.descriptor() } -> std::convertible_to<const Descriptor&>;
};

/// Tells the actor, by messages Ready, that the descriptor is ready for what `interest` says. It
/// tells what is, not what has changed: when a Ready has been handled, and there still is something
/// to read, the next one comes. There is at most one at a time, for which no memory is taken, and
/// a bounded mailbox has room for it. Those who wait on the descriptor by other means are not
/// disturbed.
///
/// It goes on until the descriptor is closed or given away over a wall, the actor ends, unwatch()
/// is called, or somebody else watches the same descriptor: it has one watch. No Ready is handled
/// after that. For the same actor to watch it again changes the interest, and returns the same
/// Watch, as long as that has not ended. What can be written to is ready nearly always: ask for
/// that only while there is something to write.
///
/// For an actor of class S, to be called by itself alone: S has `receive(bulkhead::net::Ready)`.
/// Fails with kClosed; with kStopped in an actor that is ending; with kNoMemory, also on a stage
/// whose timers are all in use, as one of which a watch counts; and when the system cannot watch
/// it, as files cannot be. Throws std::logic_error elsewhere, std::invalid_argument for an interest
/// that is none.
template <class S>
Result<Watch> watch(const Address<S>& self, const Descriptor& descriptor,
                    Interest interest = Interest::kReadable) {
  constexpr bool handled = handler::kAccepted<S, Ready>;
  static_assert(
      handled,
      "bulkhead: that a descriptor is ready comes as a message: give the class of whoever "
      "watches it a public member function `receive(bulkhead::net::Ready)`, or have its "
      "Mailbox name that (S above)");
  if constexpr (handled) {
    return watch_by(self.pid(), descriptor, interest, &handler::kTell<S, Ready>);
  } else {
    return Watch();  // never: it has not compiled
  }
}
template <class S, HasDescriptor Handle>
Result<Watch> watch(const Address<S>& self, const Handle& handle,
                    Interest interest = Interest::kReadable) {
  return watch(self, handle.descriptor(), interest);
}
/// The same in members: `net::watch(this, stream)`.
template <class S>
Result<Watch> watch(const S* self, const Descriptor& descriptor,
                    Interest interest = Interest::kReadable) {
  return watch(this_actor::address(self), descriptor, interest);
}
template <class S, HasDescriptor Handle>
Result<Watch> watch(const S* self, const Handle& handle, Interest interest = Interest::kReadable) {
  return watch(this_actor::address(self), handle.descriptor(), interest);
}

/// In the actor whose watch it is: ends it; a Ready that is in the mailbox already is not handled.
/// False when it has ended before, or is another actor's. Throws std::logic_error outside actors.
bool unwatch(Watch watch);

}  // namespace bulkhead::net
