// The one way into a process for whatever is not of its own turn's record, and
// the one place that decides whether a PID is local: Post, and SendTogether,
// which is Post for the messages of a step.
//
// Two things are no Post. What a turn answers to itself goes into urgent_taken
// (Dispatcher::Answer, and the cancel that a process begins with). The first
// messages of a child lie in its hand before anybody runs it (Preload, and
// Applier::StartChild).
//
// Thread-safety: any thread.
// performance-notes: Rare code moved out.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"

namespace actord::runtime {

// What becomes of a Run.
enum class Posted : uint8_t {
  kDelivered,
  kMailboxFull,
  kEnded,    // the process has lived here, and has ended
  kUnknown,  // there never was such a process here
};

// What goes into a mailbox at once.
struct Run {
  enum class Kind : uint8_t {
    // Messages, linked, or in one chain (chain.h). Refused if there is no room.
    kMessages,
    // One message whose sender waits for an answer. Refused likewise; and if
    // the
    // process ends at that moment the answer is exact: kDelivered, and the end
    // finds the call, or kEnded.
    kCall,
    // An exit, which is counted as a message. Refused only if it is longer than
    // kAlwaysRoomBytes and there is no room.
    kExit,
    // A completion, the end of a lifetime, or the terminate of a cancel's
    // deadline: urgent, never refused.
    kUrgent,
    // A cancel, a termination or an upgrade: urgent, refused if too many wait.
    kControl,
    // The failure of a linked process: urgent, never refused, though more may
    // come than the word counts.
    kLinkedEnd,
  };
  static constexpr size_t kAlwaysRoomBytes = 4096;

  Run(Kind of_kind, Envelope* envelope)
      : kind(of_kind),
        first(envelope),
        last(envelope),
        units(envelope->units()) {}

  Kind kind;
  // Null: it has been taken over; otherwise it is still the caller's.
  Envelope* first;
  Envelope* last;
  uint64_t count = 1;
  uint64_t units;
};

class Delivery {
 public:
  using Result = Posted;

  Delivery(const ProcessTable& processes, Scheduler& scheduler,
           const LiveLimits& limits);

  // Puts the run into the mailbox of `to`. A process that becomes runnable is
  // enqueued, or put into `later`, which has room for it.
  Posted Post(const Pid& to, Run& run, Lane& lane, ReadyList* later = nullptr);

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
  // Why a run finds nobody.
  [[gnu::noinline]] Posted WhyNobody(const Pid& to) const {
    return processes_.HasEnded(to) ? Posted::kEnded : Posted::kUnknown;
  }
  Posted PostUrgent(const Pid& to, Run& run, Lane& lane, ReadyList* later);
  Posted PostExit(const Pid& to, Run& run, Lane& lane, ReadyList* later);
  void Enqueue(Process* process, Lane& lane, ReadyList* later) {
    if (later == nullptr) {
      scheduler_.Enqueue(process, lane.here());
    } else {
      later->Add(process);
    }
  }

  const ProcessTable& processes_;
  Scheduler& scheduler_;
  const LiveLimits& limits_;
};

}  // namespace actord::runtime
