#include "tests/sim/store/journal_replay.h"

#include "runtime/store/journal_applier.h"
#include "runtime/store/record_source.h"
#include "runtime/store/store_rounds.h"

namespace actord::sim {

using runtime::JournalApplier;
using runtime::MemoryStateStore;

namespace {

absl::Status CatchUp(runtime::Journal& journal, MemoryStateStore& state) {
  runtime::JournalSource source(journal);
  auto applier = JournalApplier::Open(state, source, {});
  if (!applier.ok()) return applier.status();
  runtime::StoreRounds rounds(journal, **applier);
  return rounds.CatchUp();
}

}  // namespace

void CheckReplay(const Outside& outside, runtime::OpenedStore& store,
                 const MemoryStateStore& state) {
  MemoryStateStore again;
  MemoryStateStore went_on = state;
  runtime::Journal& journal = store.journal();
  absl::Status status = journal.AwaitDurable(journal.Tail());
  status.Update(CatchUp(journal, again));
  status.Update(CatchUp(journal, went_on));
  if (!status.ok()) {
    outside.Broken("the journal cannot be applied once more: " +
                   std::string(status.message()));
  }
  if (again.entries() != went_on.entries()) {
    outside.Broken("the journal, applied once more, makes another state");
  }
}

}  // namespace actord::sim
