#include "runtime/effects/logged_sends.h"

#include "runtime/delivery/traced_events.h"
#include "runtime/scheduler/owned_envelope.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

uint64_t LoggedSends::LogDropped(const Pid& to, uint64_t position,
                                 records::DropReason reason) {
  return durable_
      .Append(records::Dropped{
          .to = to, .positions = {{{.lsn = position}}}, .reason = reason})
      .value_or(0);
}

void LoggedSends::Send(Owner by, const Pid& to, Envelope* message,
                       uint64_t position, uint64_t record) {
  const bool is_logged =
      message->type == kEventLogged || message->type == kEventTraced;
  ACTORD_ASSERT(is_logged && IsHomePid(to),
                "logged_sends.h: the message is in the journal, and the PID "
                "belongs to a home");
  const Posted posted = delivery_.Send(by, to, message, lane_);
  if (posted == Posted::kDelivered) return;
  if (posted == Posted::kMailboxFull || posted == Posted::kOverQuota) {
    // The journal has the message in the mailbox of the receiver. (If the
    // receiver has ended, the journal knows that.)
    const uint64_t dropped =
        LogDropped(to, position, records::DropReason::kMailboxFull);
    if (dropped != 0) record = dropped;
  }
  durable_.releases().After(
      record, [message = Own(message, shared_lane_), to, posted, by,
               &undelivered = undelivered_, &lane = shared_lane_]() mutable {
        undelivered.DropRefused(message.release(), to, posted, by, lane);
      });
}

void LoggedSends::SendWhenDurable(Owner by, const Pid& to, Envelope* message,
                                  uint64_t record) {
  // Volatile code must never see anything that a crash can undo.
  durable_.releases().After(
      record,
      [owned = Own(message, shared_lane_), to, by, &delivery = delivery_,
       &undelivered = undelivered_, &lane = shared_lane_]() mutable {
        Envelope* const sent = owned.release();
        const Posted posted = delivery.Send(by, to, sent, lane);
        if (posted != Posted::kDelivered) {
          undelivered.DropRefused(sent, to, posted, by, lane);
        }
      });
}

}  // namespace actord::runtime
