// Opens the files of a store, reads the journal, and decides whether it can be
// trusted. docs/journal-format.md has the rules; recovery never guesses.
//
// A refusal changes nothing on disk. Its status is
//   DATA_LOSS            damaged, incomplete or mixed files, or a disk that
//                        cannot be read
//   FAILED_PRECONDITION  a newer format, or a record of an unknown kind
// and its message names the file, the offset, the positions, and what the
// operator can do.
//
// Thread-safety: one thread, which has locked the directory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/format.h"
#include "runtime/journal/meta.h"
#include "runtime/journal/options.h"
#include "runtime/journal/segment.h"

namespace actord::runtime {

struct Recovered {
  Meta meta;
  // Contiguous, from meta.first_place on. Empty: the store is new.
  std::vector<std::shared_ptr<Segment>> segments;
  // The segment with the last group, or the first segment if there is no group.
  size_t current = 0;
  // The last group; empty: there is none.
  std::optional<Group> last;
  // The chain that the last group continues.
  uint64_t chain_before_last = 0;
  // The link that the next group continues.
  Link link;
  // The place where the next group is written.
  uint64_t next_place = 0;
  // Files in the folder that no longer belong to the journal.
  std::vector<std::string> leftovers;
  RecoveryReport report;
};

// Reads the whole journal. It changes nothing, except that a directory without
// a store gets META of a new one.
absl::StatusOr<Recovered> ReadJournal(const JournalOptions& options,
                                      MetaFiles& meta_files);

// Makes the findings of ReadJournal durable: META, the names in the folder, and
// the bytes of the last group, which may be only in the page cache. Removes the
// leftovers.
absl::Status SettleJournal(const JournalOptions& options, MetaFiles& meta_files,
                           Recovered& recovered);

}  // namespace actord::runtime
