// Calls from outside with a message id, to durable processes. Each call is
// carried out once, and its answer is kept.
//
//   accept   INPUT with the id, before the call is in the mailbox
//   answer   the STEP that replies, or the end of the callee without a reply;
//            the caller is answered when that record is durable
//   repeat   waits for the same answer. Once there is an answer, it is read
//            from the store, which keeps it for store.request_id_ttl.
//
// A caller that gives up does not take its call back: the call continues, also
// over a restart. A refused call had no effect, and its id is forgotten.
//
// Bounds: at most store.request_id_max calls without an answer, and as many ids
// with an answer.
//
// Thread-safety: any thread. Callbacks run without the lock.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/actors/remembered_ids.h"
#include "runtime/actors/request_ids.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_inputs.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/process/callbacks.h"
#include "runtime/scheduler/lane.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

class KeptCalls {
 public:
  using Answered = CallOnceCallback;

  // All are borrowed. `lane`: the lane of threads that run no workers.
  struct Parts {
    DurableProcesses& durable;
    DurableInputs& inputs;
    Delivery& delivery;
    ProcessTable& processes;
    Lane& lane;
    const Clock& clock;
  };
  KeptCalls(const Parts& parts, const RequestIds::Options& ids);
  KeptCalls(const KeptCalls&) = delete;
  KeptCalls& operator=(const KeptCalls&) = delete;

  // Whether a call with this id waits for its answer, or its answer is kept.
  [[nodiscard]] bool Knows(const RequestId& id) const;
  // Calls back once, as Runtime::CallOnce. Returns 0 if it has called back or
  // is about to. `by`: see Delivery. Precondition: the message is within the
  // limits.
  CallId Begin(Owner by, const Pid& to, const Message& message,
               const RequestId& id, Answered done);
  // True: the callback will not run.
  bool Cancel(CallId id);
  // Calls back all waiting callers, with `status`. The calls continue.
  void AbandonAll(const absl::Status& status);

  // Passes on the durable answer to the call at this position, or the fact that
  // its callee has ended without an answer. A second answer is ignored.
  void Answer(uint64_t position, const absl::StatusOr<Payload>& answer);
  void Fail(uint64_t position);

  // Brings back a call from the store. To be called before all other functions.
  // Calls with an answer must come in the order in which they expire.
  // `left_ns`: the time left until then.
  void Restore(Owner owner, std::string_view id, const RequestEntry& entry,
               uint64_t left_ns);

 private:
  using Key = RequestIds::Key;
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.low; }
  };
  struct Waiting {
    Answered done;
    bool is_repeat = false;
  };
  // A call without an answer.
  struct Flight {
    Fingerprint content;
    Pid pid;
    // In the order in which they came.
    std::map<CallId, Waiting> waiting;
  };
  enum class Role { kFirst, kWaits, kHasAnswer, kReused, kFull };

  // Takes `done` and sets `call` unless the role is kReused or kFull, or the
  // answer is there.
  Role Join(const Key& key, const Fingerprint& content, Answered& done,
            CallId& call);
  // Appends the call and delivers it.
  Sent Accept(Owner by, const Pid& to, const Message& message,
              const RequestId& id, const Key& key);
  // To be called when the call was refused.
  void Refuse(const Key& key, const absl::Status& why);
  // Ends a flight. `answer`: the answer for all waiting callers.
  void End(const Key& key, const absl::StatusOr<Payload>& answer,
           bool remembers);
  void ReadAnswer(const RequestId& id, Answered done);
  void Register(uint64_t position, const Key& key, const Pid& to);
  void Unregister(uint64_t position);

  const Parts parts_;
  const SipKey ids_;
  const size_t max_;
  mutable Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<Key, Flight, KeyHash> flights_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<CallId, Key> flight_of_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Key> by_position_ ABSL_GUARDED_BY(mutex_);
  RememberedIds answered_ ABSL_GUARDED_BY(mutex_);
};

// A call got no answer because its callee has ended. `how`: null: not known.
absl::Status CalleeEnded(const Pid& callee, const EndCause* how);
// The status of a call that was answered with an error.
absl::Status CallFailed(int32_t status, std::string_view text);

}  // namespace actord::runtime
