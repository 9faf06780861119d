// The only way into a process for events that are not in the record of its own
// turn, and the only place that decides whether a PID is local: Post, and its
// forms for messages, Send and SendTogether. A message from outside to a
// durable process comes by DurableInputs, which calls this.
//
// Events that no other thread can post bypass Post:
//   - the answers of a turn to itself, into urgent_taken (Dispatcher::Answer,
//     and the cancel with which a process begins);
//   - the first messages of a new process, into its in_hand before it runs
//     (Preload for a submission, Applier::StartChild for a child);
//   - the events that a life hands on to the next one (continuing.h);
//   - the events of a durable process that the store or the quarantine brings
//     back before the process runs (recovery.cc, durable_quarantine.cc).
//
// Thread-safety: any thread.
// performance-notes: Rare code moved out.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/process/owner.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"
#include "runtime/table/process_table.h"
#include "runtime/tracing/trace_context.h"

namespace actord::runtime {

// The result of posting a Run.
enum class Posted : uint8_t {
  kDelivered,
  kMailboxFull,
  kOverQuota,  // the owner of the process is at its quota of mailbox bytes
  kEnded,      // the process has lived here, and has ended
  kUnknown,    // there never was such a process here
};

// Events that go into a mailbox together.
struct Run {
  enum class Kind : uint8_t {
    // Messages, linked, or in one chain (chain.h). Refused if the mailbox has
    // no room, or the owner of the process is at its quota.
    kMessages,
    // One message whose sender waits for an answer. Refused as messages. If the
    // process ends at the same moment, the result is exact:
    // kDelivered, and the end finds the call; or kEnded.
    kCall,
    // An exit, which is counted as a message. Refused only if the exit is
    // longer than kAlwaysRoomBytes and the mailbox has no room.
    kExit,
    // A completion, the end of a lifetime, or the terminate of a cancel's
    // deadline: urgent, never refused.
    kUrgent,
    // A cancel, a termination or an upgrade: urgent, refused if too many wait.
    kControl,
    // The failure of a linked process: urgent, never refused, although more
    // events may come than the word can count.
    kLinkedEnd,
  };
  static constexpr size_t kAlwaysRoomBytes = 4096;

  // `sender`: see Delivery.
  Run(Kind of_kind, Envelope* envelope, Owner sender)
      : kind(of_kind),
        by(sender),
        first(envelope),
        last(envelope),
        units(envelope->units()) {}

  Kind kind;
  Owner by;
  // Null: the events have been taken over; otherwise the caller still owns
  // them.
  Envelope* first;
  Envelope* last;
  uint64_t count = 1;
  uint64_t units;
};

// `by`: the owner of the process that sends, or of the client. kAny: the daemon
// itself, or a client who sees all processes. For a process that `by` does not
// see, the answer is that it has ended (ProcessTable::WhyNotFound).
class Delivery {
 public:
  using Result = Posted;

  Delivery(const ProcessTable& processes, Scheduler& scheduler,
           const LiveLimits& limits);

  // Puts the run into the mailbox of `to`. A process that becomes runnable is
  // enqueued, or, if `later` is not null, put into `later`, which must have
  // room.
  Posted Post(const Pid& to, Run& run, Lane& lane, ReadyList* later = nullptr);

  // Takes the envelope over if the result is kDelivered; otherwise the caller
  // still owns it. Threads that send at the same moment may exceed the limits.
  // A process that becomes ready goes into `ready`, unless null, instead of a
  // queue.
  Result Send(Owner by, const Pid& to, Envelope* envelope, Lane& lane,
              ReadyList* ready = nullptr);
  // Send for the envelopes from `first` to `last`, which are linked, or for one
  // chain (chain.h): one push for all. `count` and `units` are the totals of
  // the messages. Either all messages are taken over, or none.
  Result SendTogether(Owner by, const Pid& to, Envelope* first, Envelope* last,
                      uint64_t count, uint64_t units, Lane& lane,
                      ReadyList* ready = nullptr);
  // Send that, on failure, frees the envelope and returns the reason in words.
  absl::Status SendOrExplain(Owner by, const Pid& to, Envelope* envelope,
                             Lane& lane, ReadyList* ready = nullptr);

  // Sends all messages or none, with the trace of the call from outside that
  // this thread carries out. Precondition: at most Activity::kMaxChain
  // messages.
  absl::Status SendAll(Owner by, const Pid& to,
                       const std::vector<Message>& messages, Lane& lane);

  // Returns the error for `why`, and counts a refusal for a full mailbox or a
  // quota.
  // Precondition: `why` is not kDelivered.
  absl::Status Explain(Owner by, const Pid& to, Result why, Lane& lane) const;

  // Posts a cancel or a terminate. `position`: of its record in the journal; 0:
  // it has none.
  absl::Status Control(Owner by, const Pid& to, uint16_t type,
                       std::string_view reason, Lane& lane,
                       uint64_t position = 0);

  // Puts messages into the empty in_hand of a reserved process, whose word
  // already counts these messages. `charged`: the owner who is charged for
  // their bytes. `position`: the position of the first message in the journal;
  // 0: the messages are not in the journal. `trace`: of the messages; may be
  // null.
  static void Preload(Process& process, const std::vector<Message>& messages,
                      Owner charged, uint64_t position,
                      const TraceContext* trace, Lane& lane);

  // The error for messages that would bring the owner of their receiver above
  // its quota of mailbox bytes, `max`; counts it.
  static absl::Status OverQuota(uint64_t max, Lane& lane);

  // Charges one of the first messages of a new process. False: its owner has no
  // room for it.
  [[nodiscard]] bool ChargeFirst(const Process& child,
                                 Envelope& message) const {
    return !processes_.mailbox_bytes_of().IsCounting() ||
           Charge(child, &message, &message, message.units());
  }

  [[nodiscard]] const ProcessTable& processes() const { return processes_; }
  // Whether `count` messages of `units` in all fit into a mailbox with this
  // word.
  [[nodiscard]] bool HasRoom(uint64_t word, uint64_t count,
                             uint64_t units) const {
    return Activity::Messages(word) + count <= limits_.max_mailbox_messages() &&
           Activity::Units(word) + units <=
               limits_.max_mailbox_bytes() / kBufferUnitBytes;
  }

 private:
  // Charges the messages to the owner of the process. False: the owner has no
  // room for them.
  [[gnu::noinline]] bool Charge(const Process& process, Envelope* first,
                                Envelope* last, uint64_t units) const;
  // Why no process was found: kEnded or kUnknown.
  [[gnu::noinline]] Posted WhyNobody(const Pid& to, Owner by) const {
    return processes_.HasEnded(to, by) ? Posted::kEnded : Posted::kUnknown;
  }
  // Calls `deliver` with the process, which stays in its slot during the call.
  // kEnded, kUnknown: `by` sees no such process.
  template <typename Deliver>
  Posted WithDurable(const Pid& to, Owner by, Deliver deliver);
  // The rest of SendTogether, when the process is found.
  [[gnu::always_inline]] Posted SendTo(const FoundProcess& process,
                                       Envelope* first, Envelope* last,
                                       uint64_t count, uint64_t units,
                                       Lane& lane, ReadyList* ready);
  // (Not inlined: a message to a volatile process would save registers for
  // it.)
  [[gnu::noinline]] Posted SendToDurable(Owner by, const Pid& to,
                                         Envelope* first, Envelope* last,
                                         uint64_t count, uint64_t units,
                                         Lane& lane, ReadyList* ready);
  Posted PostUrgent(const Pid& to, Run& run, Lane& lane, ReadyList* later);
  Posted UrgentTo(const FoundProcess& process, Run& run, Lane& lane,
                  ReadyList* later);
  Posted PostExit(const Pid& to, Run& run, Lane& lane, ReadyList* later);
  Posted ExitTo(const FoundProcess& process, Run& run, Lane& lane,
                ReadyList* later);
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
