// A store in a directory: the journal in it, and the state store in its folder
// `state`. A thread keeps the state store up with the journal and ends rounds;
// another one carries out the reads that nobody waits for (state_reads.h).
//
// Thread-safety: as DurableStore.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/durable/durable_store.h"
#include "runtime/durable/releases.h"
#include "runtime/durable/state_reads.h"
#include "runtime/durable/step_marks.h"
#include "runtime/durable/store_backup.h"
#include "runtime/journal/journal.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/record_source.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_store.h"
#include "runtime/store/store_rounds.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class OpenedStore final : public DurableStore {
 public:
  struct Options {
    // `knows` is set by Open.
    JournalOptions journal;
    ApplierOptions applier;
    // A round ends when the journal has grown by `round_bytes`, or after
    // `round_ns` if it has grown at all.
    uint64_t round_bytes = 256 << 20;
    uint64_t round_ns = uint64_t{60} * 1'000'000'000;
    // The journal is behind (Journal::HoldBack) while more bytes of it than
    // this are durable and not in the state store.
    uint64_t max_unapplied_bytes = 512 << 20;
    // Called once, on any thread, when the journal or the state store has
    // failed: the program must end with status 74.
    std::function<void(const absl::Status&)> failed;
    // IsFull is true if the disk has less free room than this. 0: the smaller
    // of 5 % of the file system and 512 MiB.
    uint64_t disk_reserve_bytes = 0;
    // Number of threads that run workers. Their steps are marked in the file
    // `running` (step_marks.h); 0: there is no such file.
    size_t marked_threads = 0;
    // Same as StepMarks::Options.
    uint32_t max_crashes = 3;
    // Opens the state store; null: RocksDB in the folder `state`.
    std::function<absl::StatusOr<std::unique_ptr<StateStore>>()> open_state;
  };

  // Makes the store if it does not exist. When it returns, the state store has
  // the effect of all records in the journal. Errors: those of Journal::Open;
  // DATA_LOSS also if journal and state store do not belong together.
  static absl::StatusOr<std::unique_ptr<OpenedStore>> Open(Options options);
  ~OpenedStore() override;
  OpenedStore(const OpenedStore&) = delete;
  OpenedStore& operator=(const OpenedStore&) = delete;

  void Close() override;
  [[nodiscard]] bool IsFull() const override {
    return is_low_.load(std::memory_order_relaxed) ||
           awaits_room_.load(std::memory_order_relaxed) ||
           journal_->HasNoRoom();
  }
  // Free room on the disk, as LookForRoom found it last.
  [[nodiscard]] uint64_t FreeBytes() const {
    return free_bytes_.load(std::memory_order_relaxed);
  }
  // The room on the disk that is kept free, in bytes.
  [[nodiscard]] uint64_t ReserveBytes() const { return reserve_bytes_; }
  [[nodiscard]] StepMarks* marks() override { return marks_.get(); }
  Journal& journal() override { return *journal_; }
  Releases& releases() override { return releases_; }
  [[nodiscard]] uint64_t NowNs() const override {
    return opened_at_ns_ +
           (options_.journal.clock->MonotonicNs() - opened_monotonic_ns_);
  }
  absl::Status ForEachProcess(
      WantsState wants_state,
      absl::FunctionRef<absl::Status(StoredProcess&&)> use) override;
  absl::Status ForEachOutcome(
      absl::FunctionRef<void(const Pid&, OutcomeEntry&&)> use) override;
  absl::Status ForEachRequest(
      absl::FunctionRef<void(StoredRequest&&)> use) override;
  absl::Status ForEachLetter(
      absl::FunctionRef<void(uint64_t position, Letter&&)> use) override;
  absl::Status ReadState(StateReads::Use use) override;
  [[nodiscard]] uint64_t Applied() const override {
    return applied_.load(std::memory_order_acquire);
  }
  absl::StatusOr<StoredProcess> ReadProcess(const Pid& pid,
                                            WantsState wants_state) override;
  void FailRead(const absl::Status& status) override { Fail(status); }
  // Applies all durable records. For the thread of the rounds, or without
  // threads.
  absl::Status CatchUp();
  void ReadAnswerLater(
      const RequestId& call,
      absl::AnyInvocable<void(std::optional<StoredAnswer>) &&> use) override;
  void ReadOutcomeLater(
      const Pid& pid,
      absl::AnyInvocable<void(absl::StatusOr<std::optional<OutcomeEntry>>) &&>
          use) override;
  [[nodiscard]] RequestIdBounds request_id_bounds() const override;
  [[nodiscard]] SipKey fingerprint_key() const override;

  // Calls `use` with the names of owners and their numbers, in the order of the
  // numbers. DATA_LOSS: the store is damaged.
  absl::Status ForEachOwner(
      absl::FunctionRef<void(Owner, std::string_view name)> use);
  // Gives the name this number, for good. To be called before any record of the
  // owner is appended, so that after a crash no such record lacks the name.
  // UNAVAILABLE: the journal has failed or is closed.
  absl::Status KeepOwner(Owner owner, const std::string& name);

  // Calls `use` with the plugins that have numbers, in the order of the
  // numbers. DATA_LOSS: the store is damaged.
  absl::Status ForEachPlugin(absl::FunctionRef<void(records::Plugin&&)> use);
  std::string TextOfPlugin(records::PluginNumber number) override;
  // Gives the plugin its number, for good, as KeepOwner does for names.
  absl::Status KeepPlugin(const records::Plugin& plugin);

  // To be called when the program is about to end itself, so that no step is
  // blamed for it.
  void NoteExit() {
    if (marks_ != nullptr) marks_->NoteExit();
  }
  // Begins a copy of the store with all records that were durable before
  // (store_backup.h). Any thread. The copy must end before the store.
  absl::StatusOr<std::unique_ptr<StoreBackup>> BeginBackup();

  // Without threads (JournalOptions::threads): commits and releases everything
  // that is ready, and checks the room on the disk. The next Open applies it.
  // False: nothing was committed or released.
  bool Work();

 private:
  explicit OpenedStore(Options options);

  absl::Status OpenState();
  absl::Status Start();
  static absl::StatusOr<StoredBody> BodyOf(const Mail& mail, uint64_t position,
                                           JournalSource& source,
                                           BufferCache& buffers);
  // Scans the entries of this kind that belong to these processes, which have
  // the order of their keys.
  absl::Status ScanBeside(
      KeyKind kind, std::vector<StoredProcess>& processes,
      absl::FunctionRef<absl::Status(StoredProcess&, std::string_view key,
                                     std::string_view value)>
          use);
  // Reads the mailboxes and exits of these processes, and the images and
  // histories of processes whose state is wanted, without the bodies that are
  // in the journal.
  absl::Status ReadRest(WantsState wants_state,
                        std::vector<StoredProcess>& processes);
  // Reads the bodies that these processes have in the journal.
  static absl::Status ReadBodies(std::span<StoredProcess> processes,
                                 JournalSource& source, BufferCache& buffers);
  absl::Status ReadExits(StoredProcess& process);
  // Without the bodies that are in the journal.
  absl::Status ReadHistory(StoredProcess& process);
  // The same with these bodies.
  absl::Status ReadWholeHistory(StoredProcess& process);
  // Wakes the thread of the rounds, because a read waits for it.
  void AskForRead();
  // The same for reads that can wait until others have come.
  void AskForReadSoon();
  // Carries the read out on the thread of the reads; without threads, at once.
  void ReadLater(StateReads::Later read);
  template <typename OneRecord>
  absl::Status Append(const OneRecord& record);
  void RunRounds();
  // Applies the records before `end`, in pieces, and ends the rounds that are
  // due between them.
  absl::Status ApplyUntil(uint64_t end);
  // Ends the round if it is due.
  absl::Status MayEndRound();
  // Checks whether the disk has less room than the reserve.
  absl::Status LookForRoom();
  // Sets reserve_bytes_.
  absl::Status ChooseReserve();
  // Waits a moment, because the disk has no room for the state store. False:
  // the store is being opened or closed, so it does not wait for room.
  bool AwaitRoom();
  // Appends a TIME.
  absl::Status WriteTime();
  // Calls Options::failed, once.
  void Fail(const absl::Status& status);

  const Options options_;
  // Reserve on the disk, in bytes.
  uint64_t reserve_bytes_ = 0;
  Releases releases_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<StepMarks> marks_;
  std::unique_ptr<StateStore> state_;
  std::unique_ptr<JournalSource> source_;  // of the applier
  // Reads bodies while the store is read before the runtime begins. The thread
  // of the rounds already runs, and must not trim these bodies away.
  struct Pass {
    explicit Pass(Journal& journal) : hold(journal), source(journal) {}
    Journal::TrimHold hold;
    JournalSource source;
  };
  std::optional<Pass> pass_;
  // Reads the bodies of single processes. The end of a round forgets it,
  // because it keeps the files of the journal open that it has passed.
  Mutex bodies_mutex_;
  std::optional<JournalSource> bodies_ ABSL_GUARDED_BY(bodies_mutex_);
  std::unique_ptr<JournalApplier> applier_;
  std::unique_ptr<StoreRounds> rounds_;
  StateReads reads_;
  // The store's clock and the monotonic clock, when the store was opened.
  uint64_t opened_at_ns_ = 0;
  uint64_t opened_monotonic_ns_ = 0;
  BufferPool pool_;
  BufferCache buffers_;

  // Position and time of the end of the last round. Used by the thread of the
  // rounds.
  uint64_t round_lsn_ = 0;
  uint64_t round_ns_ = 0;
  // Written by the thread of the rounds, relaxed; any thread reads. A stale
  // value refuses or takes work a moment longer.
  std::atomic<bool> is_low_{false};
  std::atomic<bool> awaits_room_{false};
  // Written by LookForRoom, on one thread at a time. Relaxed, because only
  // operators read it.
  std::atomic<uint64_t> free_bytes_{0};
  // Written by the thread of the rounds with release, so that a reader sees all
  // applied changes.
  std::atomic<uint64_t> applied_{0};

  Mutex mutex_;
  ConditionVariable wake_;
  // The thread of the rounds runs.
  bool runs_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_read_ ABSL_GUARDED_BY(mutex_) = false;  // a read waits
  bool is_read_soon_ ABSL_GUARDED_BY(mutex_) = false;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread rounds_thread_;
};

}  // namespace actord::runtime
