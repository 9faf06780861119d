// An open store: the journal for new records, and the contents of the store at
// the time when it was opened.
//
// Thread-safety: each part says its own. Lifetime: outlives the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/durable/releases.h"
#include "runtime/durable/step_marks.h"
#include "runtime/durable/step_of_history.h"
#include "runtime/journal/journal.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/process/submission.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"
#include "runtime/system/sip_hash.h"

namespace actord::runtime {

// A durable process as the store has it.
struct StoredProcess {
  struct Event {
    uint64_t position = 0;
    Mail mail;  // its body is set
  };

  Pid pid;
  ProcessEntry entry;
  // Unset: Init has not returned.
  std::optional<std::string> image;
  std::vector<Event> mailbox;  // in the order of the positions
  // Ends of watched processes that the process has not received yet, the
  // earliest first.
  struct Exit {
    Pid of;
    uint64_t tag = 0;  // of the monitor; 0: a link
    ExitEntry entry;
  };
  std::vector<Exit> exits;
  // For a replay type: the steps since the image, or since Init.
  std::vector<StepOfHistory> history;
  // False: the read has left out `image` and `history`.
  bool has_state = true;

  // The process waits only for messages and for its yields. Does not depend on
  // `image` and `history`.
  [[nodiscard]] bool WaitsForMessages() const {
    const records::RuntimeImage& runtime = entry.runtime;
    return entry.started && mailbox.empty() && exits.empty() &&
           entry.unseen.empty() && !runtime.turn.step_due &&
           !runtime.cancel_requested && runtime.lifetime_ns == 0 &&
           runtime.owed_calls.empty();
  }
};

// A request id, a message id or the answer to a yield as the store has it.
struct StoredRequest {
  uint8_t kind = kMessageId;  // state_keys.h
  Owner owner = Owner::kNobody;
  std::string id;    // unused for the answer to a yield
  YieldToken yield;  // for the answer to a yield
  RequestEntry entry;
};

// The answer to a call with a message id.
struct StoredAnswer {
  Pid callee;
  CallAnswer answer;
};

class DurableStore {
 public:
  virtual ~DurableStore() = default;

  // Makes all records durable, releases everything that waits for them, and
  // ends the threads of the journal and of the releases. The runtime calls it
  // when its own threads have stopped. Idempotent.
  virtual void Close() = 0;

  // True: the disk has no room, or too little, for new work from outside. Ends
  // by itself when there is room.
  [[nodiscard]] virtual bool IsFull() const = 0;
  // Null: the store keeps no marks of running steps.
  [[nodiscard]] virtual StepMarks* marks() { return nullptr; }
  virtual Journal& journal() = 0;
  virtual Releases& releases() = 0;
  // The time of the store's clock, in nanoseconds. The clock also runs during a
  // downtime.
  [[nodiscard]] virtual uint64_t NowNs() const = 0;
  // Whether a read of a process also reads its image and its history.
  using WantsState = absl::FunctionRef<bool(const StoredProcess&)>;
  static bool WithState(const StoredProcess& /*process*/) { return true; }
  static bool WithoutState(const StoredProcess& /*process*/) { return false; }

  // Calls `use` with each process that lives in the store, before the runtime
  // begins, until it returns an error. `wants_state` gets the process with its
  // mailbox and its exits. DATA_LOSS: the store is damaged.
  virtual absl::Status ForEachProcess(
      WantsState wants_state,
      absl::FunctionRef<absl::Status(StoredProcess&&)> use) = 0;
  // The state store has applied all records before this position. Any thread.
  [[nodiscard]] virtual uint64_t Applied() const = 0;
  // A process that lives in the store, without its mailbox and its exits.
  // `wants_state` gets the process with its entry alone. Precondition: no
  // record of the process is at Applied or later. (Not asserted: only the turn
  // of the process knows.) NOT_FOUND: no such process lives there. Any thread.
  // Waits for the disk.
  virtual absl::StatusOr<StoredProcess> ReadProcess(const Pid& pid,
                                                    WantsState wants_state) = 0;
  // Name and version of the plugin file with this number. "": the store has no
  // such plugin, or cannot be read. Any thread. Waits for the disk.
  virtual std::string TextOfPlugin(records::PluginNumber number) = 0;
  // Ends the program, because the state store cannot be read.
  virtual void FailRead(const absl::Status& status) = 0;
  // The same for the kept outcomes, the oldest first.
  virtual absl::Status ForEachOutcome(
      absl::FunctionRef<void(const Pid&, OutcomeEntry&&)> use) = 0;
  // The same for the ids that have not expired, in no order.
  virtual absl::Status ForEachRequest(
      absl::FunctionRef<void(StoredRequest&&)> use) = 0;
  // Calls `use` with the state store and the position of the first record that
  // it does not stand for, after all records that are durable now were applied.
  // `use` only reads. Returns its status; UNAVAILABLE: the store is closed. Any
  // thread but the store's own; waits for it.
  virtual absl::Status ReadState(
      absl::FunctionRef<absl::Status(StateStore& state, uint64_t applied)>
          use) = 0;
  // Reads the answer to a call, after all records that are durable now were
  // applied. Does not wait: `use` is called once, on the thread of such reads
  // or on this one; only other such reads wait for it. nullopt: there is no
  // such answer, or the store is closed.
  virtual void ReadAnswerLater(
      const RequestId& call,
      absl::AnyInvocable<void(std::optional<StoredAnswer>) &&> use) = 0;

  // The same for the outcome of an ended process. nullopt: the store keeps
  // none. UNAVAILABLE with the reason STOPPED: the store is closed. Another
  // error: the outcome cannot be read.
  virtual void ReadOutcomeLater(
      const Pid& pid,
      absl::AnyInvocable<void(absl::StatusOr<std::optional<OutcomeEntry>>) &&>
          use) = 0;

  // The same as ForEachOutcome for the dead letters, with their bodies, in the
  // order of their positions.
  virtual absl::Status ForEachLetter(
      absl::FunctionRef<void(uint64_t position, Letter&&)> use) = 0;

  // The bounds of the request ids, and of the message ids, that the store
  // keeps.
  [[nodiscard]] virtual RequestIdBounds request_id_bounds() const = 0;
  // The key for the fingerprints of requests. It is secret, and the store never
  // changes it.
  [[nodiscard]] virtual SipKey fingerprint_key() const = 0;
};

}  // namespace actord::runtime
