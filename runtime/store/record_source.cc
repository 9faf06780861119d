#include "runtime/store/record_source.h"

#include "absl/strings/str_cat.h"
#include "runtime/journal/journal.h"

namespace actord::runtime {

absl::StatusOr<SourceRecord> JournalSource::At(uint64_t lsn) {
  JournalReader reader = journal_.Read(lsn);
  const absl::StatusOr<bool> more = reader.Next();
  if (!more.ok()) return more.status();
  if (!*more || reader.record().lsn != lsn) {
    return absl::DataLossError(
        absl::StrCat("the journal has no record at position ", lsn));
  }
  const RecordView& record = reader.record();
  return SourceRecord{record.kind, record.flags, std::string(record.payload)};
}

}  // namespace actord::runtime
