#include "runtime/store_tools/items/salvage_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store_tools/closed_journal.h"
#include "runtime/store_tools/items/read_items.h"
#include "runtime/store_tools/items/readable_journal.h"
#include "runtime/store_tools/items/write_items.h"
#include "runtime/store_tools/overlay_state.h"
#include "runtime/store_tools/plugin_files.h"
#include "runtime/store_tools/read_only_files.h"

namespace actord::runtime {
namespace {

// Bound for a journal whose length is unknown.
constexpr uint64_t kUnknownBytes = uint64_t{1} << 40;
constexpr uint64_t kDayNs = uint64_t{24 * 3600} * 1'000'000'000;

class Salvage {
 public:
  Salvage(const SalvageOptions& options, FileSystem& files)
      : options_(options), files_(files) {}

  absl::StatusOr<SalvageReport> Run();

 private:
  absl::Status OpenJournal();
  absl::Status OpenState();
  // Whether every entry can be read.
  bool IsWhole();
  // Chooses the state with which the new store begins; makes overlay_.
  absl::Status Combine();
  // Applies the records from `from` on to the overlay.
  void Apply(uint64_t from);
  absl::StatusOr<StoreItem> Whole(ItemReader& reader);
  absl::Status Take(AnyItem&& item);
  absl::Status TakeProcess(ProcessItem& item);
  absl::Status TakeId(IdItem&& item);
  absl::Status TakeOwner(const OwnerItem& item);
  // The owner of a process needs a name.
  absl::Status NameOwner(Owner owner);
  // Copies the plugin files that are intact.
  void TakePluginFiles();

  const SalvageOptions& options_;
  FileSystem& files_;
  SalvageReport report_;
  std::optional<ReadableJournal> journal_;
  std::unique_ptr<StateStore> state_;  // null: it cannot be opened
  std::optional<OverlayState> overlay_;
  // The records before it are in the new store.
  uint64_t position_ = 0;
  StoreItem whole_;
  std::unique_ptr<StoreWriter> writer_;
  absl::flat_hash_set<Pid> pids_;
  std::set<Owner> owners_;
  std::map<records::PluginNumber, records::Plugin> plugins_;
};

absl::Status Salvage::OpenJournal() {
  const auto strict = ClosedJournal::Open(options_.directory, files_);
  if (!strict.ok() && !absl::IsDataLoss(strict.status())) {
    return strict.status();
  }
  auto opened = ReadableJournal::Open(options_.directory, files_);
  if (!opened.ok()) {
    report_.Lose(absl::StrCat("the journal: ", opened.status().message()));
    return absl::OkStatus();
  }
  journal_ = *std::move(opened);
  if (strict.ok()) return absl::OkStatus();
  report_.Lose(absl::StrCat("the records from position ", journal_->end_lsn(),
                            " on: ", strict.status().message()));
  return absl::OkStatus();
}

absl::Status Salvage::OpenState() {
  const std::string directory = options_.directory + "/state";
  absl::StatusOr<std::unique_ptr<StateStore>> opened;
  if (options_.open_state) {
    opened = options_.open_state();
  } else {
    const auto names = files_.List(directory);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
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
  } else {
    report_.Lose(absl::StrCat("the state store: ", opened.status().message()));
  }
  return absl::OkStatus();
}

bool Salvage::IsWhole() {
  const absl::Status status = state_->Scan(
      std::string(kKeyKindBytes, '\0'), std::string(kKeyKindBytes, '\xff'),
      [](std::string_view, std::string_view) { return true; });
  if (!status.ok()) {
    report_.Lose(absl::StrCat("a part of the state store: ", status.message()));
  }
  return status.ok();
}

absl::Status Salvage::Combine() {
  const bool has_all_records = journal_ && journal_->first_lsn() == kFirstLsn;
  const bool is_whole = state_ != nullptr && IsWhole();
  if (!is_whole && has_all_records) {
    overlay_.emplace(nullptr);
    Apply(kFirstLsn);
    return absl::OkStatus();
  }
  if (state_ == nullptr) {
    return absl::DataLossError(absl::StrCat(
        options_.directory,
        ": nothing can be taken: there is no state store that can be read, and "
        "the journal begins at position ",
        journal_ ? journal_->first_lsn() : 0,
        ", behind the records that have made the state; restore a backup"));
  }
  overlay_.emplace(state_.get());
  const absl::StatusOr<StoreMeta> meta = ItemReader(*overlay_, nullptr).Meta();
  if (!meta.ok() && has_all_records) {
    // Nothing was applied before the program ended.
    Apply(kFirstLsn);
    return absl::OkStatus();
  }
  if (!meta.ok()) {
    return absl::DataLossError(absl::StrCat(
        options_.directory, ": nothing can be taken: ", meta.status().message(),
        "; restore a backup"));
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

void Salvage::Apply(uint64_t from) {
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

absl::StatusOr<StoreItem> Salvage::Whole(ItemReader& reader) {
  const absl::StatusOr<StoreMeta> meta = reader.Meta();
  if (!meta.ok()) return meta.status();
  StoreItem whole{.store_ns = meta->store_ns,
                  .clock_unix_ns = meta->unix_ns,
                  .clock_store_ns = meta->time_ns};
  whole.incarnation = meta->incarnation;
  whole.position = std::max(position_, meta->applied);
  if (journal_) {
    whole.id = journal_->meta().store;
    whole.incarnation = std::max(whole.incarnation, journal_->incarnation());
    whole.position = std::max(whole.position, journal_->bound_lsn());
  } else {
    // Fingerprints of requests can no longer be compared.
    whole.id = {meta->applied, meta->incarnation};
    whole.position += kUnknownBytes;
  }
  whole.position = AlignUp(whole.position, 8);
  return whole;
}

absl::Status Salvage::TakeOwner(const OwnerItem& item) {
  if (item.number == Owner::kNobody || item.name.empty()) {
    report_.Lose("an owner without a name");
    return absl::OkStatus();
  }
  owners_.insert(item.number);
  return writer_->Add(item);
}

absl::Status Salvage::NameOwner(Owner owner) {
  if (owner == Owner::kNobody || !owners_.insert(owner).second) {
    return absl::OkStatus();
  }
  const std::string name = absl::StrCat("salvaged-", static_cast<int>(owner));
  report_.Lose(absl::StrCat("the name of owner ", static_cast<int>(owner),
                            ", who is ", name, " now"));
  return writer_->Add(OwnerItem{.number = owner, .name = name});
}

absl::Status Salvage::TakeProcess(ProcessItem& item) {
  // Without its entry the meaning of the number is unknown.
  if (!plugins_.contains(item.entry.plugin)) {
    item.entry.plugin = records::kNoPlugin;
  }
  absl::Status status = NameOwner(item.entry.runtime.owner);
  if (status.ok()) status = writer_->Add(item);
  if (!status.ok()) return status;
  pids_.insert(item.pid);
  ++report_.processes;
  report_.events += item.mailbox.size();
  return status;
}

absl::Status Salvage::TakeId(IdItem&& item) {
  if (item.entry.is_open && !pids_.contains(item.entry.pid)) {
    // Nobody will answer this call.
    item.entry.is_open = false;
    item.entry.expires_ns = whole_.store_ns + kDayNs;
    item.answer = CallAnswer{.callee_ended = true};
  }
  ++report_.ids;
  return writer_->Add(item);
}

absl::Status Salvage::Take(AnyItem&& item) {
  if (auto* const owner = std::get_if<OwnerItem>(&item)) {
    return TakeOwner(*owner);
  }
  if (auto* const process = std::get_if<ProcessItem>(&item)) {
    return TakeProcess(*process);
  }
  if (auto* const id = std::get_if<IdItem>(&item)) {
    return TakeId(std::move(*id));
  }
  if (const auto* const plugin = std::get_if<records::Plugin>(&item)) {
    plugins_.emplace(plugin->number, *plugin);
  }
  report_.dead_letters += std::holds_alternative<LetterItem>(item);
  report_.outcomes += std::holds_alternative<OutcomeItem>(item);
  return writer_->Add(item);
}

void Salvage::TakePluginFiles() {
  PluginFiles from(options_.directory, files_);
  PluginFiles to(options_.new_directory, *options_.new_files);
  for (const auto& [number, plugin] : plugins_) {
    const std::string sha256 = absl::BytesToHexString(plugin.sha256);
    absl::Status status = from.Check(sha256);
    if (absl::IsNotFound(status)) continue;
    if (status.ok()) {
      auto file = files_.Open(from.PathOf(sha256), OpenMode::kRead);
      const absl::StatusOr<uint64_t> size =
          file.ok() ? (*file)->Size() : file.status();
      status = size.ok()
                   ? to.Keep(sha256, *size,
                             [&](uint64_t offset, size_t bytes, char* into) {
                               return (*file)->Read(offset, bytes, into);
                             })
                   : size.status();
    }
    if (status.ok()) continue;
    report_.Lose(absl::StrCat("the file of plugin ", plugin.name, " ",
                              plugin.version, ": ", status.message()));
  }
}

absl::StatusOr<SalvageReport> Salvage::Run() {
  absl::Status status = OpenJournal();
  if (status.ok()) status = OpenState();
  if (status.ok()) status = Combine();
  if (!status.ok()) return status;
  const auto lose = [this](const std::string& what) { report_.Lose(what); };
  const ItemReader::Lost lost = lose;
  ItemReader reader(*overlay_, &lost);
  status = reader.LoadBodies([&](auto take) {
    if (!journal_) return absl::OkStatus();
    const absl::Status walked = journal_->ForEach(take);
    return absl::IsCancelled(walked) ? absl::OkStatus() : walked;
  });
  if (!status.ok()) return status;
  const absl::StatusOr<StoreItem> whole = Whole(reader);
  if (!whole.ok()) return whole.status();
  whole_ = *whole;
  report_.position = position_;
  auto writer = StoreWriter::Begin(options_.new_directory, *options_.new_files);
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  status = writer_->Add(whole_);
  const auto take = [this](AnyItem&& item) { return Take(std::move(item)); };
  if (status.ok()) status = reader.ReadHead(take);
  if (status.ok()) {
    status = reader.ReadProcesses(
        [](const Pid&, const ProcessEntry&) { return true; }, take);
  }
  if (status.ok()) status = reader.ReadTail(take);
  if (status.ok()) status = writer_->End();
  if (!status.ok()) return status;
  TakePluginFiles();
  return std::move(report_);
}

}  // namespace

absl::StatusOr<SalvageReport> SalvageStore(const SalvageOptions& options) {
  ReadOnlyFiles files(*options.files);
  // Held until the end.
  const absl::StatusOr<std::unique_ptr<DirectoryLock>> lock =
      files.LockDirectory(options.directory);
  if (!lock.ok()) return lock.status();
  return Salvage(options, files).Run();
}

}  // namespace actord::runtime
