// Disposes of envelopes that no step will get.
//
// Thread-safety: any thread, with its own lane.
#pragma once

#include "runtime/actors/dead_letters.h"
#include "runtime/delivery/delivery.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/effects/calls.h"
#include "runtime/process/envelope.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/scheduler/lane.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

class Undelivered {
 public:
  Undelivered(DeadLetters& dead_letters, Calls& calls)
      : dead_letters_(dead_letters), calls_(calls) {}

  // Takes the envelope: a message becomes a dead letter. A call becomes a dead
  // letter, too, and its caller gets an error. An event of another kind is
  // freed. `owner`: see DeadLetter.
  void Drop(Envelope* envelope, const Pid& to, DeadLetterReason why,
            Owner owner, Lane& lane) const {
    if (envelope->type == ACTORD_EVENT_MESSAGE) {
      // The journal does not have it, because no step has taken it, or because
      // a former life of the process has handed it on.
      const uint64_t position =
          why == DeadLetterReason::kDroppedAtEnd && IsHomePid(to)
              ? dead_letters_.WriteToLog(*envelope, to, owner)
              : 0;
      dead_letters_.Add(envelope, to, why, owner, lane, position);
    } else if (envelope->type == kEventKeptCall) {
      // Its caller gets an error as the other callers that the process owes an
      // answer.
      dead_letters_.Add(NewPlainMessage(*envelope, lane), to, why, owner, lane);
      lane.Free(envelope);
    } else if (envelope->type == kEventCall) {
      calls_.Dropped(*envelope, to, lane);
      dead_letters_.Add(envelope, to, why, owner, lane);
    } else if (envelope->type == kEventLogged ||
               envelope->type == kEventLoggedCall) {
      if (envelope->type == kEventLoggedCall) {
        calls_.Dropped(*envelope, to, lane);
      }
      // The journal keeps only messages as letters, because the caller of a
      // call gets an error.
      const uint64_t position =
          envelope->type == kEventLogged ? PositionOf(*envelope) : 0;
      dead_letters_.Add(NewPlainMessage(*envelope, lane), to, why, owner, lane,
                        position);
      lane.Free(envelope);
    } else if (envelope->type == kEventTraced) {
      Drop(Unwrap(envelope, lane), to, why, owner, lane);
    } else {
      lane.Free(envelope);
    }
  }

  // Drops a message of a process of `sender` that was refused. Precondition:
  // the message was not delivered.
  void DropRefused(Envelope* envelope, const Pid& to, Posted refusal,
                   Owner sender, Lane& lane) const {
    ACTORD_ASSERT(refusal != Posted::kDelivered,
                  "undelivered.h: the message was not delivered");
    if (refusal == Posted::kMailboxFull || refusal == Posted::kOverQuota) {
      lane.Count(refusal == Posted::kMailboxFull
                     ? &Counters::refused_mailbox
                     : &Counters::refused_mailbox_of_owner);
      Drop(envelope, to, DeadLetterReason::kMailboxFull, sender, lane);
    } else {
      Drop(envelope, to,
           refusal == Posted::kEnded ? DeadLetterReason::kEnded
                                     : DeadLetterReason::kUnknownProcess,
           sender, lane);
    }
  }

 private:
  DeadLetters& dead_letters_;
  Calls& calls_;
};

}  // namespace actord::runtime
