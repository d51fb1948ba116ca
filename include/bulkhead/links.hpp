/// Links and monitors: how actors hear of each other's end.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bulkhead/address.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/record_ref.hpp"

namespace bulkhead {

/// A monitor, for ending it. It belongs to the actor that made it.
class MonitorRef : public RecordRef<MonitorRef> {
 public:
  using RecordRef::RecordRef;
};

/// The message that an actor gets when one that it monitors has ended: once for each monitor.
struct Down {
  MonitorRef monitor;
  Pid actor;
  Exit exit;  ///< Exit::no_actor() when there was none already
};

/// The message that an actor which traps exits gets in place of ending: see trap_exits.
struct Exited {
  Pid actor;  ///< that is linked to it and has ended, or that sent the exit; none: a thread outside
  Exit exit;
};

namespace this_actor {

/// Hears of the end of an actor, by a message `Down`, once; at once when there is no such actor.
/// One may monitor an actor several times, and gets as many messages. To monitor oneself has no
/// effect, and no message comes. Throws std::logic_error when the calling actor has no handler for
/// Down, and outside actors; std::bad_alloc.
MonitorRef monitor(Pid actor);
template <class A>
MonitorRef monitor(const Address<A>& actor) {
  return monitor(actor.pid());
}

enum class Flush : std::uint8_t { kNo, kYes };
/// Ends a monitor of the calling actor. True: no Down comes of it. False: its Down is in the
/// mailbox already, or has been handled; or it never was this actor's. With kYes such a message is
/// taken out of the mailbox, so that in any case none comes any more. Throws std::logic_error
/// outside actors.
bool demonitor(MonitorRef monitor, Flush flush = Flush::kNo);

/// Ties the ends of two actors: when one ends in another way than normally, the other ends for the
/// same reason; or, if it traps exits, gets a message `Exited`. Without effect when they are linked
/// already, and with oneself. If there is no such actor, the caller is told as if it had just
/// ended, by Exit::no_actor(). Throws std::logic_error outside actors, std::bad_alloc.
void link(Pid actor);
template <class A>
void link(const Address<A>& actor) {
  link(actor.pid());
}
/// Undoes it: when it returns, the other's end has no effect on this actor any more, nor the
/// reverse. An `Exited` that came before stays in the mailbox; with kYes those of that actor are
/// taken out. Throws std::logic_error outside actors.
void unlink(Pid actor, Flush flush = Flush::kNo);
template <class A>
void unlink(const Address<A>& actor, Flush flush = Flush::kNo) {
  unlink(actor.pid(), flush);
}

/// Those that the calling actor is linked to, each once, in no order. Throws std::logic_error
/// outside actors, std::bad_alloc.
[[nodiscard]] std::vector<Pid> links();

/// From now on exits that reach the calling actor do not end it, but become messages `Exited`, also
/// normal ones; but for kill(). Returns whether it was so before. Throws std::logic_error when it
/// has no handler for Exited, and outside actors; std::bad_alloc.
bool trap_exits(bool trap);

/// Ends the calling actor when its handler returns, for this reason; as stop() does.
void stop(Exit reason);

/// In a destructor of an actor that ends, or of a message that is dropped with it: why it ends.
/// None while it has not come to that, and outside actors.
[[nodiscard]] std::optional<Exit> exit_reason() noexcept;

}  // namespace this_actor

/// Sends an actor an exit, as if one that is linked to it had ended for this reason: it ends for
/// the same, unless it traps exits. Without effect, if it does not, for Exit::normal(); but sent to
/// oneself that ends the caller. In order with the messages of the caller to it; those that are in
/// its mailbox are not handled any more. It ends at its next wait, or allocation if it is
/// preempted, or when its handler returns. Any thread. The result says whether the exit is on its
/// way.
Delivery exit(Pid actor, Exit reason);
template <class A>
Delivery exit(const Address<A>& actor, Exit reason) {
  return exit(actor.pid(), std::move(reason));
}
/// Ends an actor whether it traps exits or not, for Exit::killed(), which those who are linked to
/// it hear as any other. Any thread.
Delivery kill(Pid actor);
template <class A>
Delivery kill(const Address<A>& actor) {
  return kill(actor.pid());
}

}  // namespace bulkhead
