#include "runtime/store/journal_applier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/records/record_codec.h"

namespace actord::runtime {

absl::StatusOr<std::unique_ptr<JournalApplier>> JournalApplier::Open(
    StateStore& store, RecordSource& source, const ApplierOptions& options) {
  std::unique_ptr<JournalApplier> applier(
      new JournalApplier(store, source, options));
  absl::StatusOr<std::optional<StoreMeta>> meta =
      applier->batch_.Read<StoreMeta>(KeyOf(KeyKind::kMeta));
  if (!meta.ok()) return meta.status();
  if (meta->has_value()) {
    applier->meta_ = **meta;
  } else {
    StoreMeta& first = applier->meta_;
    first.applied = first.round = first.previous_round = first.trim = kFirstLsn;
  }
  applier->committed_ = applier->meta_.applied;
  return applier;
}

absl::Status JournalApplier::Apply(const RecordView& record) {
  if (record.lsn < meta_.applied) return absl::OkStatus();
  if (record.lsn != meta_.applied) {
    return absl::DataLossError(absl::StrCat(
        "state store: it stands for the records before position ",
        meta_.applied, ", and the next record has position ", record.lsn));
  }
  absl::Status status = ApplyOne(record);
  if (!status.ok()) return status;
  meta_.applied = record.lsn + RecordBytes(record.payload.size());
  if (meta_.applied - committed_ < options_.max_batch_bytes) {
    return absl::OkStatus();
  }
  return Commit();
}

absl::Status JournalApplier::ApplyOne(const RecordView& record) {
  lsn_ = record.lsn;
  payload_ = record.payload;
  if (record.kind == kOpenedKind) {
    const std::optional<Opened> opened = DecodeOpened(record.payload);
    if (!opened.has_value()) return Contradiction("it is no OPENED record");
    meta_.incarnation = opened->incarnation;
    return absl::OkStatus();
  }
  std::optional<records::Any> decoded;
  absl::Status status = records::Decode(record, decoded);
  if (!status.ok()) return status;
  if (!decoded.has_value()) return absl::OkStatus();
  name_ = records::NameOf(static_cast<records::Kind>(record.kind));
  return std::visit([&](const auto& one) { return Take(one); }, *decoded);
}

absl::Status JournalApplier::Commit() {
  std::vector<StateWrite> writes;
  residents_.WriteChanged(writes);
  for (auto& [position, holder] : new_bodies_) {
    batch_.PutNew(KeyOf(KeyKind::kBody, position), std::move(holder));
  }
  new_bodies_.clear();
  batch_.Put(KeyOf(KeyKind::kMeta), ValueOf(meta_));
  committed_ = meta_.applied;
  return batch_.Write(std::move(writes));
}

}  // namespace actord::runtime
