// Keeps the state store up to date with the journal: applies durable records,
// ends rounds, and gives up records that the store no longer needs.
//
// Thread-safety: one thread at a time, beside everything else of the journal.
// Lifetime: ends before the journal and the applier.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/journal/journal.h"
#include "runtime/store/journal_applier.h"

namespace actord::runtime {

class StoreRounds {
 public:
  StoreRounds(Journal& journal, JournalApplier& applier)
      : journal_(journal), applier_(applier) {}

  // Applies every record that is durable when it is called, but not much more
  // than `max_bytes` of them, and commits. Records that become durable
  // meanwhile are left for the next call, so that a flood of them does not keep
  // a round from its end. DATA_LOSS: the journal does not begin where the store
  // ends, or ends before it.
  absl::Status CatchUp(uint64_t max_bytes = UINT64_MAX);
  // Ends the round: appends a CHECKPOINT, unless the journal is behind, and
  // trims the journal. When it returns, the store is durable.
  absl::Status EndRound();

 private:
  Journal& journal_;
  JournalApplier& applier_;
};

}  // namespace actord::runtime
