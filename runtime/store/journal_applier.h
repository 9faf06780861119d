// Makes the state store from the records of the journal. It is the only writer
// of the store, and reads the records in their order.
//
//   1. A record changes the batch, which is in memory.
//   2. Commit writes the batch. The batch carries the position of the first
//      record that is not applied. So after a crash the applier continues where
//      the store ends, no matter which batches were lost. The same records make
//      the same store, no matter how they are divided into batches.
//   3. EndRound moves the bodies of messages from before the previous round
//      into the store, and makes the store durable. Only then may the journal
//      give up the records before Trim.
//
// Invariants:
//   1. A message that was sent to a durable process is in one place: a mailbox,
//      the step that consumed it, or the dead letters.
//   2. A mailbox consists of the bodies that are addressed to its process and
//      that no step has consumed.
//   3. The names, groups, watches, timers and owed calls of a process are
//      removed with its end, in the same batch.
//   4. A record that contradicts the state is refused as DATA_LOSS. Nothing is
//      guessed.
// tests/runtime/store/history_test.cc checks (1) to (3), and
// tests/runtime/store/journal_applier_test.cc checks (4).
//
// Thread-safety: one thread at a time. Lifetime: ends before the store and the
// source.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/format.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/records/records.h"
#include "runtime/step/record_format.h"
#include "runtime/store/record_source.h"
#include "runtime/store/resident_processes.h"
#include "runtime/store/state_batch.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

struct ApplierOptions {
  // How long results are kept, and how long request and message ids are kept.
  uint64_t result_ttl_ns = uint64_t{7} * 24 * 3600 * 1'000'000'000;
  uint64_t request_id_ttl_ns = uint64_t{24} * 3600 * 1'000'000'000;
  // Maximum number of request ids, and of message ids, that the end of a round
  // leaves. The ids that expire first are removed first.
  uint64_t request_id_max = 1'000'000;
  // Apply commits after records of this many bytes.
  size_t max_batch_bytes = 16 << 20;
};

class JournalApplier {
 public:
  // Reads the position and the clock of the store. DATA_LOSS: the store is
  // damaged.
  static absl::StatusOr<std::unique_ptr<JournalApplier>> Open(
      StateStore& store, RecordSource& source, const ApplierOptions& options);
  JournalApplier(const JournalApplier&) = delete;
  JournalApplier& operator=(const JournalApplier&) = delete;

  // The position of the first record that is not applied. A new store begins
  // with kFirstLsn.
  [[nodiscard]] uint64_t applied() const { return meta_.applied; }
  // The highest time of the store's clock in any record.
  [[nodiscard]] uint64_t store_ns() const { return meta_.store_ns; }
  // The store's clock at this time of the wall clock. It counts the downtime
  // since the last TIME, unless the wall clock was set back.
  [[nodiscard]] uint64_t StoreNsAt(uint64_t unix_ns) const {
    const uint64_t down_ns =
        meta_.unix_ns == 0 ? 0 : unix_ns - std::min(unix_ns, meta_.unix_ns);
    return std::max(meta_.store_ns, meta_.time_ns + down_ns);
  }
  // The records before this position are no longer needed.
  [[nodiscard]] uint64_t trim() const { return meta_.trim; }

  // A record before applied() is skipped. DATA_LOSS: a record is missing, is
  // damaged or contradicts the state. After an error the applier must not be
  // used again; the store then has the state of an earlier position.
  absl::Status Apply(const RecordView& record);
  // Writes the batch.
  absl::Status Commit();
  // Ends the round.
  absl::Status EndRound();

 private:
  JournalApplier(StateStore& store, RecordSource& source,
                 const ApplierOptions& options)
      : store_(store),
        source_(source),
        options_(options),
        batch_(store),
        residents_(batch_),
        buffers_(pool_) {}

  absl::Status ApplyOne(const RecordView& record);

  // ---- journal_applier_lives.cc: beginning and end of processes.
  absl::Status Take(const records::Submitted& record);
  absl::Status Take(const records::Started& record);
  absl::Status Take(const records::Ended& record);
  absl::Status Take(const records::Upgraded& record);
  // Removes the process. `consumed`: the events that the failed step has taken.
  absl::Status EndProcess(Resident& process, const records::End& end,
                          const Positions& consumed = {});
  absl::Status EmptyMailbox(Resident& process, const Positions& consumed);
  absl::Status EndWatches(const Resident& process, const records::End& end);
  absl::Status EndHistory(const Resident& process);
  // Completes the parent's process.spawn, if there is one.
  absl::Status CompleteSpawn(Resident& process, int32_t status,
                             std::string_view text);

  // ---- journal_applier_inputs.cc: records from outside of steps.
  absl::Status Take(const records::Input& record);
  absl::Status Take(const records::Done& record);
  absl::Status Take(const records::Dropped& record);
  absl::Status Take(const records::Resent& record);
  absl::Status Take(const records::Forgotten& record);
  absl::Status Take(const records::Attempt& record);
  absl::Status Take(const records::YieldOver& record);
  absl::Status Take(const records::Plugin& record);
  absl::Status Take(const records::Time& record);
  absl::Status Take(const records::Checkpoint& record);
  absl::Status DropOne(uint64_t position, const records::Dropped& record);
  absl::Status ForgetLetter(uint64_t position);
  absl::Status CarryOut(Resident& process, const records::Done& record);
  // Adds the ties to a volatile child.
  absl::Status TieChild(Resident& process, const records::Done& record);
  // Carries out the part of a command that concerns other processes. `owner`:
  // the sender.
  absl::Status CarryOutForOthers(const Pid& from, Owner owner,
                                 const records::Done& record);
  absl::Status SendAll(const Pid& from, Owner owner,
                       const records::Done& record);
  absl::Status Take(const records::OwnerName& record);

  // ---- journal_applier_ids.cc: request ids and message ids. Keeps the id of a
  // request that submitted a process or sent messages.
  void KeepRequest(uint8_t kind, Owner owner, const records::RequestKey& key,
                   const Pid& pid, bool is_submitted);
  // Keeps an id whose time begins now. `entry`: the other fields.
  void Keep(uint8_t kind, std::string key, RequestEntry&& entry);
  // Keeps the id of a call until AnswerCall.
  void KeepCall(const records::Input& record);
  // Stores the answer of the call from outside at this position, if its id is
  // kept.
  absl::Status AnswerCall(uint64_t position, const CallAnswer& answer);
  // Keeps the answer to an external task, before its yield ends.
  absl::Status KeepAnswer(const records::Input& record);
  // The request was refused: the id that the record at `lsn` has brought, or
  // that has started `pid`, may be used again.
  absl::Status ForgetRequest(uint8_t kind, Owner owner, const std::string& id,
                             absl::FunctionRef<bool(const RequestEntry&)> is);
  // Removes expired ids, and ids above the maximum.
  absl::Status ExpireIds(uint8_t kind);
  uint64_t& CountOf(uint8_t kind) {
    switch (kind) {
      case kSubmitId:
        return meta_.submit_ids;
      case kCallId:
        return meta_.call_ids;
      case kYieldId:
        return meta_.yield_ids;
      default:
        return meta_.message_ids;
    }
  }

  // ---- journal_applier_steps.cc: steps and their effects.
  absl::Status Take(const records::Step& record);
  // Adds the consumed events to `history`.
  absl::Status Consume(Resident& process, const Position& position,
                       HistoryEntry& history);
  // The process begins again after this step. `first_unseen`: the position of
  // the first event that it hands on.
  absl::Status BeginAgain(Resident& process, const records::Step& record,
                          uint64_t first_unseen);
  // The next life gets these events (records::Continued) before all others.
  absl::Status HandOn(ProcessEntry& entry, const std::string& unseen,
                      uint64_t first_unseen);
  // The process ends: the events that a former life has handed on and that no
  // step has got become dead letters, except those in `consumed`.
  absl::Status DropUnseen(Resident& process, const Positions& consumed);
  // Takes the completions that no step has seen out of the mailbox.
  absl::Status DropCompletions(Resident& process);
  // A step of a replay type joins the history, or ends it with its image.
  absl::Status KeepHistory(const Resident& process, const records::Step& record,
                           const HistoryEntry& history);
  absl::Status SeeEvent(Resident& process, const actord_event& event);
  absl::Status ApplyEffects(Resident& process, const records::Step& record,
                            const DecodedRecord& turn);
  absl::Status Do(Resident& process, const SendEffect& send, uint64_t position);
  absl::Status Do(Resident& process, const SpawnEffect& spawn,
                  uint64_t position);
  absl::Status Do(Resident& process, const YieldEffect& yield,
                  uint64_t position);
  absl::Status Do(Resident& process, const CallEffect& call, uint64_t position);
  // A publication and a line of the log leave nothing behind.
  static absl::Status Do(Resident& /*process*/,
                         const PublishEffect& /*publish*/,
                         uint64_t /*position*/) {
    return absl::OkStatus();
  }
  static absl::Status Do(Resident& /*process*/, const LogEffect& /*log*/,
                         uint64_t /*position*/) {
    return absl::OkStatus();
  }
  absl::Status Do(Resident& process, const ReplyEffect& reply,
                  uint64_t position);
  absl::Status Do(Resident& process, const TieEffect& tie, uint64_t position);
  absl::Status Do(Resident& process, const CancelEffect& cancel,
                  uint64_t position);
  [[nodiscard]] uint64_t DeadlineOf(uint64_t tag) const;

  // ---- journal_applier_parts.cc: parts of the state.
  // DATA_LOSS: the process does not live.
  absl::StatusOr<Resident*> Living(const Pid& pid);
  // Puts an event into the mailbox of `to`. A message to a process that is not
  // alive becomes a dead letter, and a call fails. `to` need not be durable.
  absl::Status Deliver(const Pid& to, uint64_t position, Mail&& mail);
  // Same as Deliver, for a sender of this owner: a process of another owner
  // counts as not alive. A dead letter belongs to the sender.
  absl::Status DeliverFrom(Owner sender, const Pid& to, uint64_t position,
                           Mail&& mail);
  absl::Status DeliverToNobody(const Pid& to, uint64_t position, Mail&& mail,
                               Owner owner);
  absl::Status AddLetter(const Pid& to, uint64_t position, Mail&& mail,
                         records::DropReason reason, Owner owner);
  // Records that the call at this position gets no answer. `caller`: empty if
  // it came from outside.
  absl::Status FailCall(const Pid& caller, uint64_t tag, uint64_t position);
  // Takes a mail out of the mailbox. Unset: there is none at the position.
  absl::StatusOr<std::optional<Mail>> TakeMail(Resident& process,
                                               uint64_t position);
  // Notes that `key`, which is not a mail, holds the only reference to a body
  // in the journal.
  void NoteBody(uint64_t position, const std::string& key);
  void ForgetBody(uint64_t position);
  void AddYield(Resident& process, records::YieldImage&& yield);
  // False: there is no such yield.
  bool RemoveYield(Resident& process, uint64_t tag);
  // Null: there is no such yield.
  static records::YieldImage* FindYield(Resident& process, uint64_t tag);
  // Completes a yield. DATA_LOSS if the yield is not outstanding. Does nothing
  // if the process is not alive.
  absl::Status Complete(const Pid& pid, uint64_t tag, int32_t status,
                        uint64_t position);
  absl::Status Hold(Resident& process, const std::string& name);
  absl::Status Release(Resident& process, const std::string& name);
  void SetLifetime(Resident& process, uint64_t lifetime_ns);
  void SetImage(Resident& process, const std::optional<std::string>& image);
  absl::Status AddWatch(Resident& process, const Pid& other, uint64_t tag);
  // `other` is a copy, because it may come from the list that changes.
  absl::Status RemoveWatch(Resident& process, Pid other, uint64_t tag);
  absl::Status Contradiction(std::string_view what) const;

  // ---- journal_applier_rounds.cc
  absl::Status MoveBodies(uint64_t before);
  absl::Status MoveBody(uint64_t position, const std::string& holder);
  absl::StatusOr<StoredBody> LoadBody(uint64_t lsn, uint64_t index);
  absl::Status Expire();

  StateStore& store_;
  RecordSource& source_;
  const ApplierOptions options_;
  StoreMeta meta_;
  StateBatch batch_;
  ResidentProcesses residents_;
  BufferPool pool_;
  BufferCache buffers_;
  // By position, the bodies of dead letters and histories of this batch that
  // are still only in the journal: the keys of their holders.
  absl::btree_map<uint64_t, std::string> new_bodies_;
  uint64_t committed_ = 0;  // the records before it are in written batches

  // The record that is being applied.
  uint64_t lsn_ = 0;
  std::string_view name_;
  std::string_view payload_;
  const records::Step* step_ = nullptr;
  const DecodedRecord* turn_ = nullptr;
  // Of Take(Step), which uses its memory again.
  DecodedRecord decoded_turn_;
};

}  // namespace actord::runtime
