// Puts messages and control events into mailboxes. The one place that decides
// whether a PID is local.
//
// Thread-safety: any thread.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"

namespace actord::runtime {

class Delivery {
 public:
  enum class Result { kDelivered, kNoProcess, kMailboxFull };

  Delivery(const ProcessTable& processes, Scheduler& scheduler,
           const LiveLimits& limits);

  // Takes the envelope over if the result is kDelivered; otherwise it stays the
  // caller's. Limits may be exceeded by what other threads send at the same
  // moment.
  // What becomes ready goes into `ready` instead of a queue, if there is one.
  Result Send(const Pid& to, Envelope* envelope, Lane& lane,
              ReadyList* ready = nullptr);
  // Send for the envelopes from `first` to `last`, which are linked, or for one
  // chain (chain.h): one push for all. `count` and `units` are the messages'
  // sums. All are taken over, or none.
  Result SendTogether(const Pid& to, Envelope* first, Envelope* last,
                      uint64_t count, uint64_t units, Lane& lane,
                      ReadyList* ready = nullptr);
  // Send, with the reason in words (and the envelope freed) if it fails.
  absl::Status SendOrExplain(const Pid& to, Envelope* envelope, Lane& lane,
                             ReadyList* ready = nullptr);

  // All of them or none, at most Activity::kMaxChain.
  absl::Status SendAll(const Pid& to, const std::vector<Message>& messages,
                       Lane& lane);

  // Counts a refusal and says it in words. Precondition: it was not delivered.
  absl::Status Explain(const Pid& to, Result why, Lane& lane) const;

  // A cancel or a terminate.
  absl::Status Control(const Pid& to, uint16_t type, std::string_view reason,
                       Lane& lane);

  // Hands messages to a process that is reserved and has none in hand. Its word
  // counts them already.
  static void Preload(Process& process, const std::vector<Message>& messages,
                      Lane& lane);

  // Whether so much more fits into a mailbox with this word.
  [[nodiscard]] bool HasRoom(uint64_t word, uint64_t count,
                             uint64_t units) const {
    return Activity::Messages(word) + count <= limits_.max_mailbox_messages() &&
           Activity::Units(word) + units <=
               limits_.max_mailbox_bytes() / kBufferUnitBytes;
  }

 private:
  const ProcessTable& processes_;
  Scheduler& scheduler_;
  const LiveLimits& limits_;
};

}  // namespace actord::runtime
