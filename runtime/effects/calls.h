// Messages that want an answer: who waits for it, and that each call ends in
// exactly one.
//
// A call is named by a handle (call_handle.h), which the callee's event
// carries. Whoever is
// called answers that, and does not see who waits:
//   a process   the handle is that of a yield at the broker, which has the
//               timeout, and whose completion the answer is;
//   outside     the handle names a callback here. Its deadline is the caller's
//               business: it cancels.
//
// Nobody waits for one who is gone: what a callee has been given and not
// answered stands in its OwedCalls and fails at its end; what lay in its
// mailbox fails when that is dropped; and whoever delivers a call looks,
// afterwards, whether the callee has ended meanwhile. Of several ends the first
// one counts.
//
// Thread-safety: any thread, unless a function says otherwise.
#pragma once

#include <cstdint>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/inbox/delivery.h"
#include "runtime/process/callbacks.h"
#include "runtime/process/end_record.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/call_effect.h"
#include "runtime/system/mutex.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

// Calls that a process has been given and not answered. Those whose callers
// have given up are taken out when it has grown to twice what was left the last
// time.
struct OwedCalls {
  absl::flat_hash_set<uint64_t> calls;
  size_t tidy_at = 64;
};

class Calls {
 public:
  using Answered = CallCallback;
  using Id = CallId;

  Calls(Dispatcher& dispatcher, YieldBroker& broker, Delivery& delivery,
        Lane& shared_lane)
      : dispatcher_(dispatcher),
        broker_(broker),
        delivery_(delivery),
        shared_lane_(shared_lane) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  // The turn of the caller.
  void Apply(CallEffect&& call, Process& caller, const Pid& self, Lane& lane);
  // The turn of whoever answers. A late answer is counted, nothing else.
  void Apply(ReplyEffect&& reply, Process& from, const Pid& self, Lane& lane);

  // From outside. Calls back once: with the answer, or why there is none.
  // Returns 0 if it has called back. The message fits.
  Id Begin(const Pid& to, const Message& message, Answered done);
  // True: the callback will not run.
  bool Cancel(Id id);
  // Calls back all from outside who still wait.
  void AbandonAll(const absl::Status& status);

  // The turn of the callee: its step is about to be given the call.
  void Owe(Process& callee, uint64_t call);
  // Observes ends (end_record.h): what the process owes fails.
  static constexpr uint8_t kEndWanted = Wanted::kCalled;
  static constexpr bool kEndNeedsOutcome = false;
  void OnEnd(const EndRecord& end, Lane& lane);
  // A call's envelope is dropped, because its receiver has ended.
  void Dropped(const Envelope& envelope, Lane& lane);

 private:
  [[nodiscard]] bool IsOpen(uint64_t call) const;
  // False: it had ended.
  bool Answer(uint64_t call, int32_t status, const actord_payload& payload,
              Lane& lane);
  // For a reason of ours. Nothing if it had ended.
  void Fail(uint64_t call, const absl::Status& why, Lane& lane);
  // Delivers, or fails, the call.
  void Deliver(const Pid& to, uint64_t call, Envelope* message, Lane& lane);
  // Nothing: there is no such call any more.
  Answered TakeOutside(uint64_t call);

  Dispatcher& dispatcher_;
  YieldBroker& broker_;
  Delivery& delivery_;
  Lane& shared_lane_;

  mutable Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  // Ordered, so that all are abandoned in the order in which they came.
  std::map<uint64_t, Answered> outside_ ABSL_GUARDED_BY(mutex_);
};

// The status of a call from outside that was answered with an error.
absl::Status CallFailed(int32_t status, std::string_view text);

}  // namespace actord::runtime
