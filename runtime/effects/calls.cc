#include "runtime/effects/calls.h"

#include <actord/text.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/effects/call_handle.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

absl::Status Calls::HasEnded(const Pid& callee) const {
  const auto failure = failures_.Find(callee);
  if (failure == nullptr) return CalleeEnded(callee, nullptr);
  const EndCause how{failure->kind, failure->code, failure->message};
  return CalleeEnded(callee, &how);
}

void Calls::Apply(CallEffect&& call, Process& caller, const Pid& self,
                  Lane& lane) {
  lane.Count(&Counters::yields);
  const uint64_t tag = call.content->ReadHeader<CallHeader>().call;
  const auto refuse = [&](int32_t status, std::string_view why) {
    dispatcher_.Refuse(caller, tag, status, why, lane);
    lane.Free(call.content.Take());
  };
  if (!dispatcher_.MayYield(caller)) {
    refuse(ACTORD_RESOURCE_EXHAUSTED, dispatcher_.TooManyYields(lane));
    return;
  }
  if (call.to == Pid{}) {
    refuse(ACTORD_NOT_FOUND, "no process holds the name that was called");
    return;
  }
  const actord_completion handle = broker_.OpenCall(
      caller, self.generation, tag, call.to,
      {.timeout_ns = dispatcher_.TimeoutOf(call.timeout_ns)}, lane);
  if (handle == 0) {
    refuse(ACTORD_RESOURCE_EXHAUSTED, Dispatcher::kTooManyInDaemon);
    return;
  }
  Deliver(caller.owner.load(std::memory_order_relaxed), call.to, handle,
          call.content.Take(), lane);
}

void Calls::Deliver(Owner by, const Pid& to, uint64_t call, Envelope* message,
                    Lane& lane) {
  if (absl::Status refused = WhyRefused(by, to); !refused.ok()) {
    lane.Free(message);
    Fail(call, refused, lane);
    return;
  }
  message->WriteHeader(CallHeader{call});
  Run run(Run::Kind::kCall, message, by);
  const Posted posted = delivery_.Post(to, run, lane);
  if (posted == Posted::kDelivered) {
    // quarantine.h, (1)
    if (absl::Status refused = WhyRefused(by, to); !refused.ok()) {
      Fail(call, refused, lane);
    }
    return;
  }
  if (run.first == nullptr) {
    Fail(call, HasEnded(to), lane);
    return;
  }
  lane.Free(run.first);
  Fail(call, delivery_.Explain(by, to, posted, lane), lane);
}

absl::Status Calls::WhyQuarantined(Owner by, const Pid& to) const {
  absl::Status refusal = quarantine_->Refusal(to);
  return refusal.ok() || delivery_.processes().Find(to, by) ? refusal
                                                            : absl::OkStatus();
}

Calls::Id Calls::Begin(Owner by, const Pid& to, const Message& message,
                       Answered done, WhoCalls who) {
  // The limit of payloads may have been lowered since the check.
  ACTORD_ASSERT_HOT(message.topic.size() <= kMaxLabelBytes,
                    "calls.h: the topic is within its limit");
  uint64_t call = 0;
  {
    const MutexLock lock(mutex_);
    const uint64_t number = next_++;
    call = CallHandle::FromOutside(number).bits();
    outside_.emplace(call, Outside{std::move(done), std::move(who), to,
                                   clock_.CoarseMonotonicNs()});
  }
  char text[sizeof(CallHeader) + kMaxLabelBytes] = {};
  message.topic.copy(text + sizeof(CallHeader), kMaxLabelBytes);
  Envelope* const envelope = shared_lane_.NewEnvelope(
      kEventCall, {text, sizeof(CallHeader) + message.topic.size()},
      ToAbi(message.payload));
  Deliver(by, to, call, Traced(envelope, ActingTrace::Here(), shared_lane_),
          shared_lane_);
  const MutexLock lock(mutex_);
  return outside_.contains(call) ? call : 0;
}

Calls::Answered Calls::TakeOutside(uint64_t call) {
  const MutexLock lock(mutex_);
  const auto it = outside_.find(call);
  if (it == outside_.end()) return {};
  Answered done = std::move(it->second.done);
  outside_.erase(it);
  return done;
}

bool Calls::Cancel(Id id) { return static_cast<bool>(TakeOutside(id)); }

void Calls::AbandonAll(const absl::Status& status) {
  std::map<uint64_t, Outside> outside;
  {
    const MutexLock lock(mutex_);
    outside.swap(outside_);
  }
  for (auto& [number, call] : outside) std::move(call.done)(status);
}

uint64_t Calls::ForEachOutside(
    uint64_t first, size_t max_calls,
    absl::FunctionRef<bool(const OutsideCall&)> use) const {
  const MutexLock lock(mutex_);
  auto it = outside_.lower_bound(first);
  for (size_t i = 0; i < max_calls && it != outside_.end(); ++i, ++it) {
    const Outside& call = it->second;
    if (!use({it->first, call.callee, call.begun_ns, call.who})) break;
  }
  return it == outside_.end() ? 0 : it->first;
}

bool Calls::IsOpen(uint64_t call) const {
  if (!CallHandle(call).is_from_outside()) return broker_.IsPending(call);
  const MutexLock lock(mutex_);
  return outside_.contains(call);
}

bool Calls::Answer(uint64_t call, int32_t status, const actord_payload& payload,
                   Lane& lane) {
  if (!CallHandle(call).is_from_outside()) {
    return broker_.Complete(call, status, payload, lane) !=
           ACTORD_FAILED_PRECONDITION;
  }
  Answered done = TakeOutside(call);
  if (!done) return false;
  if (status == ACTORD_OK) {
    std::move(done)(FromAbi(payload));
  } else {
    std::move(done)(CallFailed(status, View(payload.bytes)));
  }
  return true;
}

void Calls::Fail(uint64_t call, const absl::Status& why, Lane& lane) {
  if (CallHandle(call).is_from_outside()) {
    if (Answered done = TakeOutside(call)) std::move(done)(why);
    return;
  }
  const std::string_view text(why.message().data(), why.message().size());
  broker_.Complete(call, static_cast<int32_t>(why.code()), TextPayload(text),
                   lane);
}

void Calls::Owe(Process& callee, uint64_t call) {
  if (callee.owed_calls == nullptr) {
    callee.owed_calls = new OwedCalls;
    callee.Want(Wanted::kCalled);
  }
  OwedCalls& owed = *callee.owed_calls;
  if (owed.calls.size() >= owed.tidy_at) {
    absl::erase_if(owed.calls, [this](uint64_t old) { return !IsOpen(old); });
    owed.tidy_at = std::max<size_t>(64, 2 * owed.calls.size());
  }
  owed.calls.insert(call);
}

void Calls::Apply(ReplyEffect&& reply, Process& from, const Pid& /*self*/,
                  Lane& lane) {
  if (from.owed_calls != nullptr) from.owed_calls->calls.erase(reply.call);
  if (!Answer(reply.call, reply.content->completion.status,
              reply.content->payload(), lane)) {
    lane.Count(&Counters::late_replies);
  }
  lane.Free(reply.content.Take());
}

void Calls::OnEnd(const EndRecord& end, Lane& lane) {
  const std::unique_ptr<OwedCalls> owed(
      std::exchange(end.process.owed_calls, nullptr));
  if (owed == nullptr) return;
  // Sorted, so that the order does not depend on a hash.
  std::vector<uint64_t> calls(owed->calls.begin(), owed->calls.end());
  std::sort(calls.begin(), calls.end());
  EndCause how;  // a result, unless there is a failure
  if (end.outcome != nullptr) {
    how.kind = end.outcome->kind;
    how.message = end.outcome->message;
  }
  const absl::Status why = CalleeEnded(end.pid, &how);
  for (const uint64_t call : calls) Fail(call, why, lane);
}

void Calls::AnswerLogged(const YieldToken& yield, int32_t status,
                         const actord_payload& payload, uint64_t position,
                         Lane& lane) {
  Run run(Run::Kind::kUrgent,
          NewLoggedCompletion(kEventTagCompletion, yield.tag, status, payload,
                              position, lane),
          Owner::kAny);
  if (delivery_.Post(yield.pid, run, lane) != Posted::kDelivered) {
    lane.Free(run.first);  // the caller has ended
  }
}

void Calls::FailLogged(const YieldToken& yield, const Pid& callee,
                       const EndCause* how, Lane& lane) {
  const absl::Status why =
      how == nullptr ? HasEnded(callee) : CalleeEnded(callee, how);
  const std::string text(why.message());
  AnswerLogged(yield, static_cast<int32_t>(why.code()), TextPayload(text), 0,
               lane);
}

void Calls::AnswerKept(uint64_t position, int32_t status,
                       const actord_payload& payload) {
  if (status == ACTORD_OK) {
    kept_->Answer(position, FromAbi(payload));
  } else {
    kept_->Answer(position, CallFailed(status, View(payload.bytes)));
  }
}

void Calls::FailKept(uint64_t position) { kept_->Fail(position); }

void Calls::Dropped(const Envelope& envelope, const Pid& callee, Lane& lane) {
  if (envelope.type == kEventLoggedCall) {
    const auto header = envelope.ReadHeader<LoggedCallHeader>();
    const Pid caller = FromAbi(envelope.from);
    if (caller.empty()) {
      FailKept(header.position);
    } else {
      FailLogged({caller, header.tag}, callee, nullptr, lane);
    }
    return;
  }
  Fail(envelope.ReadHeader<CallHeader>().call, HasEnded(callee), lane);
}

}  // namespace actord::runtime
