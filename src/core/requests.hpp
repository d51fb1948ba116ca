// Requests: asks that nobody waits for, since their answer comes as a message.
//
// The answer goes the way of any other (ask.hpp): whoever claims the wait of the asker's slot
// writes it into the frame, and wakes the slot. The slot here is no actor's, but belongs to the
// record of a timer, of the requester (send_timers.hpp); to wake it is to make the response of what
// the frame says, and to send it to the requester. All memory for that is taken beforehand.
//
// | the request | its wait | what comes next                                | moved by           |
// |-------------|----------|------------------------------------------------|--------------------|
// | pending     | armed    | decided: answered, failed, or too late         | who claims it      |
// |             |          | gone: nobody is told, a reply is too late      | requester (Q3)     |
// | decided     | claimed  | gone, when the requester hears its response    | requester          |
// |             |          | left                                           | requester (Q3)     |
// | left        | claimed  | gone, when the response is dropped             | who drops it       |
//
// Rules
//  Q1  The record is given back, once, by who brings the request to its end: the requester that
//      hears the response, or leaves it while it is pending; else who drops the response. Till then
//      it is not used again; its slot stays with it, where late replies do no harm (wait_word.hpp,
//      W2).
//  Q2  A response is heard when it comes to the requester, and becomes a message of its queue then.
//  Q3  An actor that ends leaves its requests before its generation changes: so whoever drops a
//      response finds the record in nobody's list. One that is made anew in place, with its
//      generation, leaves them too: a response that comes to it is dropped then.
#pragma once

#include "bulkhead/request.hpp"
#include "core/send_timers.hpp"

namespace bulkhead::core {

/// Gives the record the slot that others claim. Throws std::bad_alloc.
void take_slot_for(SendTimer& timer);
/// Its wait has been claimed: makes the response, and sends it. Any thread, inside.
void respond(Slot& slot) noexcept;
/// When it is due: false when it is decided already. Else the caller has decided it,
[[nodiscard]] inline bool is_time_up(SendTimer& request) noexcept {
  return request.slot->wait.claim(request.epoch);
}
/// and goes on, outside of locks.
inline void answer_too_late(SendTimer& request) noexcept { respond(*request.slot); }
/// Of an actor that ends, or is made anew. Owner.
void leave_requests(Slot& slot, Core& core) noexcept;

}  // namespace bulkhead::core
