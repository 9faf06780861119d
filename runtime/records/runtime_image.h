// The runtime's part of the image of a durable process: everything that the
// runtime needs of the process after a restart, beside its state and its
// mailbox.
//
// Times whose names end in `_ns` are of the store's clock (records.h) unless
// the name says `unix`.
//
// Thread-safety: plain values. Ownership: values own their contents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/records/field_codec.h"

namespace actord::runtime {

constexpr Owner LastOf(Owner) { return Owner::kAny; }

template <typename T, typename Visitor>
requires Is<T, Payload>
void VisitFields(T& payload, Visitor& visit) {
  visit(1, payload.bytes);
  visit(2, payload.content_type);
}

namespace records {

// The part that the step itself changes.
struct TurnImage {
  uint64_t next_tag = 0;
  uint64_t step = 0;    // number of the last step; 0: Init
  int32_t verdict = 0;  // of that step: ACTORD_STEP_*
  bool blocked = false;
  bool step_due = false;  // the next turn calls Step even without events
  bool cancel_seen = false;
  std::string unknown = {};  // fields of later versions

  friend bool operator==(const TurnImage&, const TurnImage&) = default;
};
template <typename T, typename Visitor>
requires Is<T, TurnImage>
void VisitFields(T& turn, Visitor& visit) {
  visit(1, turn.next_tag);
  visit(2, turn.step);
  visit(3, turn.verdict);
  visit(4, turn.blocked);
  visit(5, turn.step_due);
  visit(6, turn.cancel_seen);
}

enum class YieldKind : uint8_t {
  kCommand,  // a command that the dispatcher carries out
  kCall,     // a call to another process
};
constexpr YieldKind LastOf(YieldKind) { return YieldKind::kCall; }

// An outstanding yield. A yield whose completion waits in the mailbox is no
// longer outstanding.
struct YieldImage {
  uint64_t tag = 0;
  YieldKind kind = YieldKind::kCommand;
  std::string command = {};
  Payload payload = {};
  std::string policy = {};   // an actord_work_policy in ABI layout, or empty
  uint64_t deadline_ns = 0;  // 0: none
  uint32_t attempts = 0;     // how often it was handed to a worker
  std::string worker = {};   // of the last attempt
  uint64_t lease_ns = 0;     // when the lease of that attempt ends
  Pid callee = {};           // of kCall
  // For kCall: the callee has ended without an answer. A later step of the
  // caller gets the failure.
  bool failed = false;
  // The process has given the yield up. A later step gets CANCELLED, unless
  // another completion came first.
  bool cancelled = false;
  // For kCall: the position of the answer in the mailbox; 0: none. The yield
  // ends when a step gets this answer, or a timeout that came first. Also used
  // for process.spawn, which the child's STARTED or ENDED answers.
  uint64_t answer = 0;
  uint64_t begun_ns = 0;  // when its step returned
  // The owner of the worker with the last attempt.
  Owner worker_owner = Owner::kNobody;
  std::string unknown = {};

  friend bool operator==(const YieldImage&, const YieldImage&) = default;
};
template <typename T, typename Visitor>
requires Is<T, YieldImage>
void VisitFields(T& yield, Visitor& visit) {
  visit(1, yield.tag);
  visit(2, yield.kind);
  visit(3, yield.command);
  visit(4, yield.payload);
  visit(5, yield.policy);
  visit(6, yield.deadline_ns);
  visit(7, yield.attempts);
  visit(8, yield.worker);
  visit(9, yield.lease_ns);
  visit(10, yield.callee);
  visit(11, yield.failed);
  visit(12, yield.cancelled);
  visit(13, yield.answer);
  visit(14, yield.begun_ns);
  visit(15, yield.worker_owner);
}

// A call that the process has received and not answered.
struct OwedCall {
  uint64_t call = 0;  // the position that names the call
  Pid caller = {};    // empty: from outside, with a message id
  uint64_t tag = 0;   // of the caller's yield
  std::string unknown = {};

  friend bool operator==(const OwedCall&, const OwedCall&) = default;
};
template <typename T, typename Visitor>
requires Is<T, OwedCall>
void VisitFields(T& owed, Visitor& visit) {
  visit(1, owed.call);
  visit(2, owed.caller);
  visit(3, owed.tag);
}

// One side of a monitor or a link.
struct Watch {
  Pid other = {};
  uint64_t tag = 0;  // of the monitor, at its watcher; 0: a link
  std::string unknown = {};

  friend bool operator==(const Watch&, const Watch&) = default;
};
template <typename T, typename Visitor>
requires Is<T, Watch>
void VisitFields(T& watch, Visitor& visit) {
  visit(1, watch.other);
  visit(2, watch.tag);
}

struct RuntimeImage {
  TurnImage turn = {};
  bool cancel_requested = false;
  uint8_t priority = 0;
  Owner owner = Owner::kNobody;
  bool keep_result = false;
  Pid parent = {};  // empty: submitted from outside
  uint64_t started_unix_ns = 0;
  uint64_t lifetime_ns = 0;               // when the lifetime ends; 0: no limit
  std::vector<YieldImage> yields = {};    // in the order of their tags
  std::vector<OwedCall> owed_calls = {};  // oldest first
  std::vector<std::string> names = {};
  std::vector<std::string> groups = {};
  std::vector<Watch> watches = {};   // of other processes
  std::vector<Watch> watchers = {};  // of the process, without links
  bool traps_exits = false;          // the end of a linked process is an event
  // The earliest deadline of its cancels, on the store's clock, and its
  // distance from its cancel; 0: there is none.
  uint64_t cancel_deadline_ns = 0;
  uint64_t cancel_after_ns = 0;
  std::vector<std::string> labels = {};  // KEY=VALUE, in the order of the keys
  std::string unknown = {};

  // A cancel at `at_ns`; `deadline_ns`: 0 for none.
  void NoteCancel(uint64_t deadline_ns, uint64_t at_ns) {
    cancel_requested = true;
    if (deadline_ns == 0 ||
        (cancel_deadline_ns != 0 && cancel_deadline_ns <= deadline_ns)) {
      return;
    }
    cancel_deadline_ns = deadline_ns;
    cancel_after_ns = deadline_ns - std::min(deadline_ns, at_ns);
  }
  friend bool operator==(const RuntimeImage&, const RuntimeImage&) = default;
};
template <typename T, typename Visitor>
requires Is<T, RuntimeImage>
void VisitFields(T& image, Visitor& visit) {
  visit(1, image.turn);
  visit(2, image.cancel_requested);
  visit(3, image.priority);
  visit(4, image.owner);
  visit(5, image.keep_result);
  visit(6, image.parent);
  visit(7, image.started_unix_ns);
  visit(8, image.lifetime_ns);
  visit(9, image.yields);
  visit(10, image.owed_calls);
  visit(11, image.names);
  visit(12, image.groups);
  visit(13, image.watches);
  visit(14, image.watchers);
  visit(15, image.traps_exits);
  visit(16, image.cancel_deadline_ns);
  visit(17, image.cancel_after_ns);
  visit(18, image.labels);
}

}  // namespace records
}  // namespace actord::runtime
