// Records by their positions, for the bodies of messages.
//
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/journal/reader.h"

namespace actord::runtime {

class Journal;

struct SourceRecord {
  uint16_t kind = 0;
  uint16_t flags = 0;
  std::string payload;
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // NOT_FOUND: the journal no longer holds the record. DATA_LOSS: the journal
  // cannot be read, or has no record at this position.
  virtual absl::StatusOr<SourceRecord> At(uint64_t lsn) = 0;
};

// Reads the records of a journal. It remembers the places of the groups that it
// has passed, so it searches for each group once. Reading a later record of the
// same group is cheapest. Lifetime: ends before the journal.
class JournalSource final : public RecordSource {
 public:
  explicit JournalSource(const Journal& journal) : journal_(journal) {}
  absl::StatusOr<SourceRecord> At(uint64_t lsn) override;

 private:
  // Puts the reader at or before the position.
  void Seek(uint64_t lsn);
  void ForgetTrimmed();

  const Journal& journal_;
  std::optional<JournalReader> reader_;
  uint64_t at_ = 0;  // of the reader's record; 0: it has none
  JournalReader::Places places_;
};

}  // namespace actord::runtime
