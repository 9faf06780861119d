// Completions of durable processes, which are in the journal before the process
// gets them.
#include "runtime/delivery/logged_events.h"
#include "runtime/system/assert.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

Envelope* YieldBroker::NewDurable(const YieldToken& yield, int32_t status,
                                  actord_payload payload, Logged logged,
                                  Lane& lane) {
  const Fingerprint answer = logged == Logged::kAsAnswer
                                 ? log_->AnswerOf(status, payload)
                                 : Fingerprint{};
  if (payload.bytes.size > log_->MaxCompletionBytes()) {
    status = ACTORD_RESOURCE_EXHAUSTED;
    payload = TextPayload(
        "the completion is larger than a record of the store can be");
  }
  const uint64_t position = log_->LogCompletion(yield, status, payload, answer);
  if (position == 0) return nullptr;
  return NewLoggedCompletion(ACTORD_EVENT_COMPLETION, yield.tag, status,
                             payload, position, lane);
}

bool YieldBroker::CompleteSpawn(actord_completion handle, const TiedChild& tied,
                                Lane& lane) {
  YieldRecord* const record = Find(handle);
  if (record == nullptr) return false;
  const std::optional<Won> won = Win(*record, handle);
  if (!won) return false;
  ACTORD_ASSERT(won->process->is_durable(),
                "yield_broker.h: the process is durable");
  const Pid pid = processes_.PidOf(*won->process, won->generation);
  const std::string text = FormatPid(tied.child);
  const uint64_t position = log_->LogSpawn({pid, won->tag}, tied, text);
  // The journal takes no more, and the process takes no more steps.
  if (position == 0) return true;
  Envelope* const completion =
      NewLoggedCompletion(ACTORD_EVENT_COMPLETION, won->tag, ACTORD_OK,
                          TextPayload(text), position, lane);
  completion->completion.yield_slot = SlotOf(handle);
  Post(*won->process, pid, completion, lane, nullptr);
  return true;
}

}  // namespace actord::runtime
