// Reads the history of a durable process from the store: for a replay type from
// the steps in the state store, and from the journal as far as it goes back.
// The outstanding waits come from the state store. Nothing comes from live
// memory.
//
//   1. The reader reads the owner and the outstanding waits of the process from
//      the state store. `end` is the position at which they were read.
//   2. If the process has ended, the reader goes through the journal a first
//      time, because nobody may see a history before its owner and its end are
//      known.
//   3. The steps in the state store that are older than the journal.
//   4. The records of the journal up to `end`.
//   5. The outstanding waits at `end`.
//   6. With `follow`: the records from `end` on, as they become durable.
//
// The reader goes through the whole journal: a few hundred MiB at most, because
// a round cuts it (OpenedStore::Options). Each call of Next does a bounded part
// of the work.
//
// Thread-safety: one thread at a time; it may wait for the thread of the store.
// Lifetime: ends before the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/durable/durable_store.h"
#include "runtime/history/history_item.h"
#include "runtime/history/process_trace.h"
#include "runtime/journal/reader.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct HistoryOrder {
  Pid pid;
  Owner by = Owner::kAny;  // whose processes the reader may see
  bool follow = false;
  // How long the history of a process can be read after its end.
  uint64_t retention_ns = 0;
  size_t max_payload_bytes = 1024;
};

class HistoryReader {
 public:
  // Limits of one call of Next.
  static constexpr size_t kMaxItems = 256;
  static constexpr uint64_t kMaxBytes = 4 << 20;
  // Maximum number of events of the mailbox that are shown.
  static constexpr size_t kMaxWaiting = 1000;

  HistoryReader(DurableStore& store, const HistoryOrder& order);

  enum class Progress {
    kGoesOn,
    kWaits,  // with `follow`: for the next record
    kOver,
  };
  // Appends the next lines to `items`, perhaps none. NOT_FOUND: the store has
  // no such history for this reader. DATA_LOSS: the store is damaged.
  // UNAVAILABLE: it was closed.
  absl::StatusOr<Progress> Next(std::vector<HistoryItem>& items);

 private:
  enum class Stage { kBegin, kSurvey, kStored, kJournal, kPending, kFollow };

  absl::Status Begin();
  absl::Status ReadBase(StateStore& state);
  [[nodiscard]] absl::Status NotFound() const;
  // Goes back to the beginning of the journal with an empty trace.
  void Rewind();
  // Takes records up to `end`. True: all of them were taken.
  absl::StatusOr<bool> Walk(uint64_t end, std::vector<HistoryItem>& items);
  // Continues after the trimmed records. Returns an error that has another
  // reason.
  absl::Status GoOnBehindTrim(const absl::Status& why,
                              std::vector<HistoryItem>& items);
  absl::Status CheckSurvey();
  absl::StatusOr<bool> ReadStored(std::vector<HistoryItem>& items);
  void ShowPending(std::vector<HistoryItem>& items);
  // Appends lines to `items`, after the line about the beginning once that is
  // known.
  void Emit(std::vector<HistoryItem>&& lines, std::vector<HistoryItem>& items,
            bool is_end);

  DurableStore& store_;
  const HistoryOrder order_;
  Stage stage_ = Stage::kBegin;
  std::optional<ProcessTrace> trace_;
  std::optional<JournalReader> reader_;
  uint64_t first_ = 0;  // where the journal began
  uint64_t next_ = 0;   // the position of the next record
  uint64_t end_ = 0;

  // The process's entry in the state store at `end_`. Unset: the process had
  // ended.
  std::optional<ProcessEntry> entry_;
  std::vector<std::pair<uint64_t, Mail>> mailbox_;
  bool more_waiting_ = false;
  std::optional<OutcomeEntry> outcome_;
  uint64_t offset_unix_ns_ = 0;
  uint64_t offset_store_ns_ = 0;
  uint64_t stored_from_ = 0;  // steps before this position were shown
  std::vector<records::Plugin> plugins_;

  // Lines before the line about the beginning, whose step is not known yet.
  bool has_begun_ = false;
  std::vector<HistoryItem> held_;
};

}  // namespace actord::runtime
