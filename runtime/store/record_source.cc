#include "runtime/store/record_source.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/journal/journal.h"

namespace actord::runtime {

void JournalSource::ForgetTrimmed() {
  // The journal uses a file again when its records are trimmed away. Also, a
  // place keeps its file open.
  const uint64_t first = journal_.FirstLsn();
  places_.erase(places_.begin(), places_.lower_bound(first));
  if (at_ < first) {
    reader_.reset();
    at_ = 0;
  }
}

void JournalSource::Seek(uint64_t lsn) {
  ForgetTrimmed();
  const auto behind = places_.upper_bound(lsn);
  const bool knows = behind != places_.begin();
  const uint64_t known = knows ? std::prev(behind)->first : 0;
  // The reader continues from its position, unless it is behind the record, or
  // far before it.
  if (reader_ && at_ != 0 && at_ <= lsn && known <= at_) return;
  reader_.emplace(journal_.Read(lsn));
  reader_->KeepPlacesIn(places_);
  at_ = 0;
  if (knows) reader_->BeginAt(std::prev(behind)->second);
}

absl::StatusOr<SourceRecord> JournalSource::At(uint64_t lsn) {
  Seek(lsn);
  while (at_ < lsn) {
    const absl::StatusOr<bool> more = reader_->Next();
    if (!more.ok() || !*more) {
      reader_.reset();
      if (!more.ok()) return more.status();
      break;
    }
    at_ = reader_->record().lsn;
  }
  if (!reader_ || at_ != lsn) {
    return absl::DataLossError(
        absl::StrCat("the journal has no record at position ", lsn));
  }
  const RecordView& record = reader_->record();
  return SourceRecord{record.kind, record.flags, std::string(record.payload)};
}

}  // namespace actord::runtime
