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
  // NOT_FOUND: the journal does not keep the record any more. DATA_LOSS: the
  // journal cannot be read, or has no record at this position.
  virtual absl::StatusOr<SourceRecord> At(uint64_t lsn) = 0;
};

// The records of a journal. It remembers where the groups are that it has come
// by, so each is searched for once. A record in the group of the one before,
// and behind it, costs least. Lifetime: ends before the journal.
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
