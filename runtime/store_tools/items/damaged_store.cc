#include "runtime/store_tools/items/damaged_store.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store_tools/closed_journal.h"
#include "runtime/store_tools/items/read_items.h"

namespace actord::runtime {

std::string WithoutAdvice(absl::string_view text) {
  for (const absl::string_view advice :
       {"; \"actorctl store verify\"", "; restore the directory",
        ". Records were acknowledged and are lost"}) {
    text = text.substr(0, text.find(advice));
  }
  return std::string(text);
}

absl::Status DamagedStore::OpenJournal() {
  const auto strict = ClosedJournal::Open(options_.directory, files_);
  if (!strict.ok() && !absl::IsDataLoss(strict.status())) {
    return strict.status();
  }
  if (!strict.ok()) first_damage_ = WithoutAdvice(strict.status().message());
  auto opened = ReadableJournal::Open(options_.directory, files_);
  if (opened.ok()) {
    journal_ = *std::move(opened);
  } else {
    first_damage_ = WithoutAdvice(opened.status().message());
  }
  return absl::OkStatus();
}

absl::Status DamagedStore::OpenState() {
  absl::Status status = OpenStateStore();
  if (status.ok()) status = Combine();
  if (status.ok()) LoseRecords();
  return status;
}

absl::Status DamagedStore::OpenStateStore() {
  const std::string directory = options_.directory + "/state";
  absl::StatusOr<std::unique_ptr<StateStore>> opened;
  if (options_.open_state) {
    opened = options_.open_state();
  } else {
    const auto names = files_.List(directory);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
    if (!names.ok()) return names.status();
    auto rocks = RocksStateStore::OpenToRead(directory);
    if (rocks.ok()) {
      opened = *std::move(rocks);
    } else {
      opened = rocks.status();
    }
  }
  if (absl::IsPermissionDenied(opened.status())) return opened.status();
  if (opened.ok()) {
    state_ = *std::move(opened);
    return absl::OkStatus();
  }
  state_damage_ = WithoutAdvice(opened.status().message());
  if (!options_.open_state && !HasAllRecords()) {
    return OpenDataFiles(directory);
  }
  report_.Lose(absl::StrCat(
      "the state store could not be opened: ", state_damage_,
      HasAllRecords() ? ". The state was made again from the journal" : ""));
  return absl::OkStatus();
}

absl::Status DamagedStore::OpenDataFiles(const std::string& directory) {
  std::vector<std::string> left_out;
  auto opened = DataFilesState::Open(
      {.directory = directory,
       .files = &files_,
       .folder = options_.new_directory + ".reading",
       .new_files = options_.new_files},
      [&](const std::string& path, const std::string& why) {
        left_out.push_back(absl::StrCat(path, " (", why, ")"));
      });
  if (absl::IsDataLoss(opened.status())) {
    state_damage_ += ", and none of its data files can be read";
    return absl::OkStatus();
  }
  if (!opened.ok()) return opened.status();
  report_.Lose(absl::StrCat(
      "the state store could not be opened: ", state_damage_,
      ". It was repaired: the entries are those of the data files that can be "
      "read. An entry that was removed or changed can be back as it was"));
  for (const std::string& file : left_out) {
    report_.Lose(
        absl::StrCat("the entries of a data file of the state store: ", file));
  }
  data_files_ = opened->get();
  state_ = *std::move(opened);
  return absl::OkStatus();
}

bool DamagedStore::IsWhole() {
  const absl::Status status = state_->Scan(
      std::string(kKeyKindBytes, '\0'), std::string(kKeyKindBytes, '\xff'),
      [](std::string_view, std::string_view) { return true; });
  if (!status.ok()) {
    report_.Lose(absl::StrCat("a part of the state store: ", status.message()));
  }
  return status.ok();
}

bool DamagedStore::HasAllRecords() const {
  return journal_ && journal_->first_lsn() == kFirstLsn &&
         (first_damage_.empty() || journal_->end_lsn() > kFirstLsn);
}

absl::Status DamagedStore::Combine() {
  // Entries of data files are not the state at one position: old versions can
  // be back, and newer ones can be lost. Records that are applied to them could
  // fit and still be wrong, for example a message to a process that has ended.
  const bool is_whole =
      state_ != nullptr && data_files_ == nullptr && IsWhole();
  if (!is_whole && HasAllRecords()) {
    overlay_.emplace(nullptr);
    Apply(kFirstLsn);
    return absl::OkStatus();
  }
  if (state_ == nullptr) {
    const std::string state =
        state_damage_.empty()
            ? "there is no state store"
            : absl::StrCat("the state store cannot be read: ", state_damage_);
    if (!journal_) return NothingToTake(state + "; nor can the journal");
    if (journal_->first_lsn() == kFirstLsn) {
      return NothingToTake(state + "; nor can a record of the journal");
    }
    return NothingToTake(absl::StrCat(
        state, "; and the journal begins at position ", journal_->first_lsn(),
        ", behind the records that have made the state"));
  }
  overlay_.emplace(state_.get());
  const absl::StatusOr<StoreMeta> meta = Meta();
  if (!meta.ok() && HasAllRecords()) {
    // Nothing was applied before the program ended.
    Apply(kFirstLsn);
    return absl::OkStatus();
  }
  if (!meta.ok()) {
    return NothingToTake(
        absl::StrCat(meta.status().message(),
                     journal_ && journal_->end_lsn() > journal_->first_lsn()
                         ? ""
                         : ", and no record of the journal can be read"));
  }
  position_ = meta->applied;
  if (!journal_) return absl::OkStatus();
  const bool can_apply = is_whole && meta->applied >= journal_->first_lsn() &&
                         meta->applied <= journal_->end_lsn();
  if (can_apply) {
    Apply(meta->applied);
  } else if (meta->applied < journal_->end_lsn()) {
    report_.Lose(absl::StrCat("the records from position ", meta->applied,
                              " to ", journal_->end_lsn(),
                              ": the state that they change cannot be read"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StoreMeta> DamagedStore::Meta() {
  absl::StatusOr<StoreMeta> meta = ItemReader(*overlay_, nullptr).Meta();
  if (meta.ok() || data_files_ == nullptr || !journal_) return meta;
  meta = MetaOfJournal();
  if (!meta.ok()) return meta;
  const std::vector<StateWrite> writes = {
      {KeyOf(KeyKind::kMeta), ValueOf(*meta)}};
  absl::Status status = overlay_->Write(writes);
  if (!status.ok()) return status;
  return meta;
}

absl::StatusOr<StoreMeta> DamagedStore::MetaOfJournal() {
  StoreMeta meta;
  // The state has all records that the journal no longer has.
  meta.applied = meta.round = meta.previous_round = meta.trim =
      journal_->first_lsn();
  meta.incarnation = journal_->incarnation();
  // Each start writes its time.
  absl::Status status = journal_->ForEach([&](const RecordView& record) {
    if (record.kind != static_cast<uint16_t>(records::Kind::kTime)) {
      return absl::OkStatus();
    }
    std::optional<records::Any> any;
    absl::Status read =
        records::Decode(record.kind, record.flags, record.payload, any);
    if (!read.ok() || !any) return read;
    const auto& time = std::get<records::Time>(*any);
    meta.unix_ns = time.unix_ns;
    meta.store_ns = meta.time_ns = time.store_ns;
    return read;
  });
  if (!status.ok()) return status;
  if (meta.unix_ns != 0) return meta;
  return absl::DataLossError(
      "the data file with the position and the clock of the state store is "
      "lost, and the journal has no clock either");
}

void DamagedStore::LoseRecords() {
  if (first_damage_.empty()) return;
  if (!journal_) {
    report_.Lose(
        absl::StrCat("the records from position ", position_,
                     " on: the journal cannot be read: ", first_damage_));
    return;
  }
  const uint64_t end = journal_->end_lsn();
  if (position_ <= end) {
    report_.Lose(absl::StrCat("the records from position ", end,
                              " on: ", first_damage_));
    return;
  }
  report_.Lose(absl::StrCat("the records from position ", position_,
                            " on: the journal cannot be read from position ",
                            end, " on: ", first_damage_));
  report_.Lose(absl::StrCat(
      "the history from position ", end, " to ", position_,
      ": the new store has the state that these records have made, and none of "
      "the records"));
}

void DamagedStore::Apply(uint64_t from) {
  WalkedSource source = journal_->Source();
  ApplierOptions options;
  // The changes of the records before a record that does not fit are kept.
  options.max_batch_bytes = 1;
  auto applier = JournalApplier::Open(*overlay_, source, options);
  absl::Status status = applier.status();
  if (status.ok()) {
    status = journal_->ForEach([&](const RecordView& record) {
      return record.lsn < from ? absl::OkStatus() : (*applier)->Apply(record);
    });
    position_ = (*applier)->applied();
  }
  if (!status.ok()) {
    const absl::StatusOr<StoreMeta> meta =
        ItemReader(*overlay_, nullptr).Meta();
    position_ = meta.ok() ? meta->applied : from;
    report_.Lose(absl::StrCat("the records from position ", position_,
                              " on: ", status.message()));
  }
}

absl::Status DamagedStore::NothingToTake(absl::string_view why) const {
  const std::string first =
      first_damage_.empty()
          ? ""
          : absl::StrCat(" The first loss: ", first_damage_, ".");
  return absl::DataLossError(absl::StrCat(
      options_.directory, ": nothing can be taken: ", why, ".", first,
      " Nothing was changed in ", options_.directory,
      ": keep it, and restore a backup with \"actord --restore\". Only if "
      "there "
      "is no backup, begin with an empty store in another directory"));
}

void DamagedStore::Close() {
  if (data_files_ == nullptr) return;
  const absl::Status status = data_files_->Close();
  // The new store is complete without the temporary folder.
  if (!status.ok()) {
    report_.Lose(
        absl::StrCat("nothing, but remove this folder: ", status.message()));
  }
  overlay_.reset();
  state_.reset();
  data_files_ = nullptr;
}

}  // namespace actord::runtime
