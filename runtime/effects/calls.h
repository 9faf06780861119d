// Calls, which are messages with an answer. This class knows the waiting
// callers, and ensures that each call ends with exactly one answer.
//
// The callee's event carries the handle of the call (call_handle.h). The callee
// answers the handle, and does not see the caller:
//   caller      handle
//   a process   names a yield at the broker. The broker has the timeout, and
//               the answer completes the yield.
//   outside     names a callback in this class. The caller itself cancels the
//               call at its deadline.
//
// No caller waits for a callee that has ended. The calls that a callee has
// received and not answered are in its OwedCalls, and fail when it ends. The
// calls in its mailbox fail when the mailbox is dropped. The sender of a call
// checks, after the delivery, whether the callee has ended meanwhile. If a call
// could end in several ways, the first one counts.
//
// Thread-safety: any thread, unless a function says otherwise.
#pragma once

#include <cstdint>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/actors/failures.h"
#include "runtime/delivery/delivery.h"
#include "runtime/delivery/quarantine.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/effects/kept_calls.h"
#include "runtime/process/callbacks.h"
#include "runtime/process/end_record.h"
#include "runtime/process/listed/outside_caller.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/call_effect.h"
#include "runtime/system/assert.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/table/home_pid.h"
#include "runtime/table/process_table.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

// Calls that a process has received and not answered. When the set has twice
// the size that the last removal left (at least 64), the calls whose callers
// have given up are removed.
struct OwedCalls {
  absl::flat_hash_set<uint64_t> calls;
  size_t tidy_at = 64;
};

class Calls {
 public:
  using Answered = CallCallback;
  using Id = CallId;

  // `quarantine`, and `kept` for calls with a message id: null if the runtime
  // has no store.
  Calls(Dispatcher& dispatcher, YieldBroker& broker, Delivery& delivery,
        const Failures& failures, const Quarantine* quarantine, KeptCalls* kept,
        const Clock& clock, Lane& shared_lane)
      : dispatcher_(dispatcher),
        broker_(broker),
        delivery_(delivery),
        failures_(failures),
        quarantine_(quarantine),
        kept_(kept),
        clock_(clock),
        shared_lane_(shared_lane) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // Called in the turn of the caller.
  void Apply(CallEffect&& call, Process& caller, const Pid& self, Lane& lane);
  // Called in the turn of the process that answers. A late answer is only
  // counted.
  void Apply(ReplyEffect&& reply, Process& from, const Pid& self, Lane& lane);

  // Begins a call from outside. Calls back once: with the answer, or with the
  // error. Returns 0 if it has called back. `by`: see Delivery. `who`: see
  // Runtime::Call. Precondition: the message is within the limits.
  Id Begin(Owner by, const Pid& to, const Message& message, Answered done,
           WhoCalls who = {});
  // True: the callback will not run.
  bool Cancel(Id id);
  // A call from outside that has no answer yet.
  struct OutsideCall {
    Id id = 0;
    Pid callee;
    uint64_t begun_ns = 0;  // on the monotonic clock
    const WhoCalls& who;    // empty: not known
  };
  // Calls `use` with these calls from the id `first` on, until `use` returns
  // false: then returns that id. Examines at most `max_calls` calls, and
  // returns the id of the next one; 0: there is none. `use` must not call this
  // class.
  uint64_t ForEachOutside(
      uint64_t first, size_t max_calls,
      absl::FunctionRef<bool(const OutsideCall&)> use) const;
  // Calls back all callers from outside that still wait, with `status`.
  void AbandonAll(const absl::Status& status);

  // Sends the call of a process, or fails it. `call`: its handle at the broker.
  // `message`: of kEventCall, or such a message with a trace.
  void Deliver(Owner by, const Pid& to, uint64_t call, Envelope* message,
               Lane& lane);

  // Called in the turn of the callee, before its step gets the call.
  void Owe(Process& callee, uint64_t call);
  // Observes ends (end_record.h): fails the calls that the process owes.
  static constexpr uint8_t kEndWanted = Wanted::kCalled;
  static constexpr bool kEndNeedsOutcome = false;
  static constexpr bool kEndNeedsFailure = true;
  void OnEnd(const EndRecord& end, Lane& lane);
  // Fails a call whose envelope is dropped because its receiver has ended.
  void Dropped(const Envelope& envelope, const Pid& callee, Lane& lane);
  // Answers the call that a durable process has made with this yield, which is
  // in the journal. `position`: the position of the answer in the journal; 0:
  // it is an error without a record, which happens again after a restart.
  void AnswerLogged(const YieldToken& yield, int32_t status,
                    const actord_payload& payload, uint64_t position,
                    Lane& lane);
  // Fails such a call because its callee has ended. `how`: the end; null: the
  // callee's failure, if it is kept.
  void FailLogged(const YieldToken& yield, const Pid& callee,
                  const EndCause* how, Lane& lane);
  // Fails a call whose receiver is in quarantine. Precondition: the envelope is
  // of kEventCall.
  void Refuse(const Envelope& envelope, const absl::Status& why, Lane& lane) {
    ACTORD_ASSERT(envelope.type == kEventCall,
                  "calls.h: the envelope is of kEventCall");
    Fail(envelope.ReadHeader<CallHeader>().call, why, lane);
  }
  // PROCESS_QUARANTINED: the process takes no calls. `by`: see Delivery; a
  // process that `by` does not see counts as not in quarantine.
  [[nodiscard]] absl::Status WhyRefused(Owner by, const Pid& to) const {
    return IsHomePid(to) && quarantine_ != nullptr ? WhyQuarantined(by, to)
                                                   : absl::OkStatus();
  }
  // Passes on the durable answer to a call with a message id, or the fact that
  // its callee has ended without an answer. `position`: the position of the
  // call.
  void AnswerKept(uint64_t position, int32_t status,
                  const actord_payload& payload);
  void FailKept(uint64_t position);
  // Whether a caller still waits for the answer.
  [[nodiscard]] bool IsOpen(uint64_t call) const;
  // Answers a call. False: the call had ended.
  bool Answer(uint64_t call, int32_t status, const actord_payload& payload,
              Lane& lane);

 private:
  // The error for a callee that had ended before; with its failure, if that is
  // kept.
  [[nodiscard]] absl::Status HasEnded(const Pid& callee) const;
  [[nodiscard]] absl::Status WhyQuarantined(Owner by, const Pid& to) const;
  // Ends the call with an error of the daemon. Does nothing if the call had
  // ended.
  void Fail(uint64_t call, const absl::Status& why, Lane& lane);
  // Empty: the call has ended.
  Answered TakeOutside(uint64_t call);

  Dispatcher& dispatcher_;
  YieldBroker& broker_;
  Delivery& delivery_;
  const Failures& failures_;
  const Quarantine* const quarantine_;
  KeptCalls* const kept_;
  const Clock& clock_;
  Lane& shared_lane_;

  struct Outside {
    Answered done;
    WhoCalls who;
    Pid callee;
    uint64_t begun_ns = 0;
  };
  mutable Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  // Ordered, so that AbandonAll calls back in the order in which the calls
  // came.
  std::map<uint64_t, Outside> outside_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
