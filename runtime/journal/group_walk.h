// The walk over all groups of a journal, and the decision at the first place
// where there is no intact group: docs/journal-format.md, "At the first bad
// group".
//
// Thread-safety: one thread.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/journal/options.h"
#include "runtime/journal/recovery.h"

namespace actord::runtime {

// The advice for the operator at the end of each message about damage.
inline constexpr absl::string_view kAdviceOnDamage =
    "; \"actorctl store verify\" lists all damage; restore a backup with "
    "\"actord --restore\", or take what is intact with \"actorctl store "
    "salvage\"";

// Sets `current`, `last`, `link`, `next_place` and the report of `recovered`
// from its segments.
absl::Status WalkGroups(const JournalOptions& options, Recovered& recovered);

}  // namespace actord::runtime
