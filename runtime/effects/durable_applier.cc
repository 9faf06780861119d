#include "runtime/effects/durable_applier.h"

#include <utility>

#include "runtime/delivery/logged_message.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

const char* DurableApplier::WhyNotSupported(const Effect& effect) {
  return std::holds_alternative<SendEffect>(effect) ||
                 std::holds_alternative<ReplyEffect>(effect)
             ? nullptr
             : "a durable process cannot spawn, yield, call, monitor or link "
               "yet";
}

void DurableApplier::Apply(StepRecord& record, Process& process,
                           DurableState& state, uint64_t position) {
  const Owner by = process.owner.load(std::memory_order_relaxed);
  uint64_t body = position;
  for (Effect& effect : record.effects) {
    ACTORD_ASSERT(WhyNotSupported(effect) == nullptr,
                  "durable_applier.h: the effects are supported");
    if (auto* const send = std::get_if<SendEffect>(&effect)) {
      Apply(*send, by, position, body);
    } else if (auto* const reply = std::get_if<ReplyEffect>(&effect)) {
      Apply(*reply, process, state, position);
    }
    ++body;
  }
  record.effects.clear();
}

void DurableApplier::DropAfter(uint64_t position, Envelope* message,
                               const Pid& to, Posted refusal, Owner by) {
  durable_.releases().After(
      position, [message, to, refusal, by, &undelivered = undelivered_,
                 &lane = shared_lane_] {
        undelivered.DropRefused(message, to, refusal, by, lane);
      });
}

void DurableApplier::Apply(SendEffect& send, Owner by, uint64_t step,
                           uint64_t position) {
  Envelope* const message = send.content.TakeLast();
  const Pid to = send.to;
  if (!IsHomePid(to)) {
    // Volatile code never knows what a crash can take back.
    durable_.releases().After(
        step, [message, to, by, &delivery = delivery_,
               &undelivered = undelivered_, &lane = shared_lane_] {
          const Posted posted = delivery.Send(by, to, message, lane);
          if (posted != Posted::kDelivered) {
            undelivered.DropRefused(message, to, posted, by, lane);
          }
        });
    return;
  }
  Envelope* const logged = NewLoggedMessage(
      message->from, message->topic(), message->payload(), position, lane_);
  lane_.Free(message);
  const Posted posted = delivery_.Send(by, to, logged, lane_);
  if (posted == Posted::kDelivered) return;
  uint64_t dropped_at = step;
  if (posted == Posted::kMailboxFull || posted == Posted::kOverQuota) {
    // The journal has the message in the mailbox of the receiver. (If the
    // receiver has ended, the journal knows that.)
    const absl::StatusOr<uint64_t> dropped = durable_.Append(
        records::Dropped{.to = to,
                         .positions = {{{.lsn = position}}},
                         .reason = records::DropReason::kMailboxFull});
    if (dropped.ok()) dropped_at = *dropped;
  }
  DropAfter(dropped_at, logged, to, posted, by);
}

void DurableApplier::Apply(ReplyEffect& reply, Process& process,
                           DurableState& state, uint64_t step) {
  Envelope* const content = reply.content.TakeLast();
  const auto call = state.calls.find(reply.call);
  if (call == state.calls.end()) {
    lane_.Count(&Counters::late_replies);
    lane_.Free(content);
    return;
  }
  const uint64_t handle = call->second;
  state.calls.erase(call);
  if (process.owed_calls != nullptr) process.owed_calls->calls.erase(handle);
  durable_.releases().After(
      step, [handle, content, &calls = calls_, &lane = shared_lane_] {
        if (!calls.Answer(handle, content->completion.status,
                          content->payload(), lane)) {
          lane.Count(&Counters::late_replies);
        }
        lane.Free(content);
      });
}

}  // namespace actord::runtime
