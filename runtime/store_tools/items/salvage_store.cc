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
#include "runtime/store_tools/items/damaged_store.h"
#include "runtime/store_tools/items/read_items.h"
#include "runtime/store_tools/items/write_items.h"
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
      : options_(options), files_(files), store_(options, files, report_) {}

  absl::StatusOr<SalvageReport> Run();

 private:
  absl::StatusOr<StoreItem> Whole(ItemReader& reader);
  absl::Status Take(AnyItem&& item);
  absl::Status TakeProcess(ProcessItem& item);
  // Takes from the process the names that an earlier process holds: one of the
  // two entries is old.
  void KeepFreeNames(ProcessItem& item);
  // False for a process that has a result: its entry is old.
  bool IsAlive(const Pid& pid);
  absl::Status TakeId(IdItem&& item);
  absl::Status TakeOwner(const OwnerItem& item);
  // The owner of a process needs a name.
  absl::Status NameOwner(Owner owner);
  absl::Status TakeAll();
  // Copies the plugin files that are intact.
  void TakePluginFiles();

  const SalvageOptions& options_;
  FileSystem& files_;
  SalvageReport report_;
  DamagedStore store_;
  StoreItem whole_;
  std::unique_ptr<StoreWriter> writer_;
  absl::flat_hash_set<Pid> pids_;
  std::set<Owner> owners_;
  std::set<std::pair<Owner, std::string>> names_;
  std::map<records::PluginNumber, records::Plugin> plugins_;
};

absl::StatusOr<StoreItem> Salvage::Whole(ItemReader& reader) {
  const absl::StatusOr<StoreMeta> meta = reader.Meta();
  if (!meta.ok()) {
    return store_.NothingToTake(absl::StrCat(
        meta.status().message(), ", and no record of the journal can be read"));
  }
  StoreItem whole{.store_ns = meta->store_ns,
                  .clock_unix_ns = meta->unix_ns,
                  .clock_store_ns = meta->time_ns};
  whole.incarnation = meta->incarnation;
  whole.position = std::max(store_.position(), meta->applied);
  if (const ReadableJournal* const journal = store_.journal()) {
    whole.id = journal->meta().store;
    whole.incarnation = std::max(whole.incarnation, journal->incarnation());
    whole.position = std::max(whole.position, journal->bound_lsn());
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

void Salvage::KeepFreeNames(ProcessItem& item) {
  records::RuntimeImage& image = item.entry.runtime;
  std::erase_if(image.names, [&](const std::string& name) {
    if (names_.emplace(image.owner, name).second) return false;
    report_.Lose(absl::StrCat("the name ", name, " of process ",
                              FormatPid(item.pid), ": another process has it"));
    return true;
  });
}

absl::Status Salvage::TakeProcess(ProcessItem& item) {
  // Without its entry the meaning of the number is unknown.
  if (!plugins_.contains(item.entry.plugin)) {
    item.entry.plugin = records::kNoPlugin;
  }
  absl::Status status = NameOwner(item.entry.runtime.owner);
  if (!status.ok()) return status;
  KeepFreeNames(item);
  status = writer_->Add(item);
  if (absl::IsInvalidArgument(status)) {
    report_.Lose(
        absl::StrCat("process ", FormatPid(item.pid), ": ", status.message()));
    return absl::OkStatus();
  }
  if (!status.ok()) return status;
  pids_.insert(item.pid);
  ++report_.processes;
  report_.events += item.mailbox.size();
  return status;
}

bool Salvage::IsAlive(const Pid& pid) {
  if (!store_.may_have_old_entries()) return true;
  const auto result = store_.state().Get(KeyOf(KeyKind::kOutcome, pid));
  // A result that cannot be read is reported with the other results.
  return !result.ok() || !result->has_value();
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

absl::Status Salvage::TakeAll() {
  const auto lose = [this](const std::string& what) {
    report_.Lose(WithoutAdvice(what));
  };
  const ItemReader::Lost lost = lose;
  ItemReader reader(store_.state(), &lost);
  absl::Status status = reader.LoadBodies([&](auto take) {
    if (store_.journal() == nullptr) return absl::OkStatus();
    const absl::Status walked = store_.journal()->ForEach(take);
    return absl::IsCancelled(walked) ? absl::OkStatus() : walked;
  });
  if (!status.ok()) return status;
  const absl::StatusOr<StoreItem> whole = Whole(reader);
  if (!whole.ok()) return whole.status();
  whole_ = *whole;
  status = writer_->Add(whole_);
  const auto take = [this](AnyItem&& item) { return Take(std::move(item)); };
  if (status.ok()) status = reader.ReadHead(take);
  if (status.ok()) {
    status = reader.ReadProcesses(
        [&](const Pid& pid, const ProcessEntry&) { return IsAlive(pid); },
        take);
  }
  return status.ok() ? reader.ReadTail(take) : status;
}

absl::StatusOr<SalvageReport> Salvage::Run() {
  absl::Status status = store_.OpenJournal();
  if (!status.ok()) return status;
  // First, so that a wrong new directory is named before files are copied.
  auto writer = StoreWriter::Begin(options_.new_directory, *options_.new_files);
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  status = store_.OpenState();
  if (!status.ok()) return status;
  report_.position = store_.position();
  status = TakeAll();
  store_.Close();
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
