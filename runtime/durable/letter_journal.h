// Writes dead letters, and their ends, into the journal: INPUT, DROPPED, RESENT
// and FORGOTTEN.
//
// When a durable process ends, its mailbox may hold messages that are not in
// the journal, because volatile processes have sent them. KeepBeforeEnd writes
// them as messages to the process that still lives, many in one record, and the
// record of the end makes letters of them, as of all that waits. So a crash in
// between loses none: the process lives, and gets them as messages.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime/actors/dead_letters.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/scheduler/lane.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class LetterJournal final : public LetterLog {
 public:
  // All are borrowed. `shared_lane`: the lane of threads that run no workers.
  LetterJournal(DurableProcesses& durable, Delivery& delivery,
                ProcessTable& processes, Lane& shared_lane)
      : durable_(durable),
        delivery_(delivery),
        processes_(processes),
        lane_(shared_lane) {}

  // Writes the messages in the mailbox of `to` that it has not written before.
  // To be called in the turn in which the process ends, before the
  // record of its end. Keep returns the positions. `owner`: of the process.
  void KeepBeforeEnd(const Pid& to, Owner owner,
                     std::span<const Envelope* const> messages);
  // The journal has the message at this position, which Keep returns.
  void Note(const Envelope& message, uint64_t position);

  absl::Status Forget(const std::vector<uint64_t>& positions) override;
  uint64_t Keep(const Envelope& message, const Pid& to, Owner owner) override;
  // A durable receiver gets the message once, also after a crash: one record
  // holds the message and the end of the letter, and it is written before the
  // message is in the mailbox. If the letter itself is not in the journal, a
  // crash loses it in any case.
  absl::Status Resend(Owner by, const Pid& to, const Envelope& message,
                      uint64_t& position) override;

 private:
  [[nodiscard]] std::vector<const Envelope*> WithoutNoted(
      std::span<const Envelope* const> messages);
  absl::Status ResendToDurable(Owner by, const Pid& to, const Envelope& message,
                               uint64_t& position);

  DurableProcesses& durable_;
  Delivery& delivery_;
  ProcessTable& processes_;
  Lane& lane_;

  Mutex mutex_;
  // The positions that Note has got, until Keep takes them. The messages are in
  // the mailboxes of processes that wait for their end.
  absl::flat_hash_map<const Envelope*, uint64_t> noted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
