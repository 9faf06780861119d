#include "runtime/store_tools/examine_store.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/journal/format.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/records/record_codec.h"
#include "runtime/store/journal_applier.h"
#include "runtime/store/record_bodies.h"
#include "runtime/store/rocks_state_store.h"
#include "runtime/store_tools/closed_journal.h"
#include "runtime/store_tools/overlay_state.h"
#include "runtime/store_tools/plugin_files.h"
#include "runtime/store_tools/read_only_files.h"
#include "runtime/store_tools/state_check.h"

namespace actord::runtime {
namespace {

constexpr absl::string_view kRestore = "; restore the directory from a backup";

class Examination {
 public:
  Examination(const ExamineOptions& options, FileSystem& files)
      : options_(options), files_(files), buffers_(pool_) {
    report_.directory = options.directory;
  }

  absl::StatusOr<StoreReport> Run();

 private:
  // False: there is no journal to read.
  absl::StatusOr<bool> OpenJournal();
  absl::Status OpenState();
  // Applies the records that are not in the state store to the overlay.
  void Apply(OverlayState& overlay);
  void CheckRecords();
  void CheckBodies(const std::vector<StateCheck::BodyInJournal>& bodies);
  // The plugin files that the store keeps.
  void CheckPlugins();
  void Damage(const std::string& text) {
    report_.Add({.is_damage = true, .text = text});
  }
  void Note(std::string text) {
    report_.Add({.is_damage = false, .text = std::move(text)});
  }

  const ExamineOptions& options_;
  FileSystem& files_;
  StoreReport report_;
  std::unique_ptr<ClosedJournal> journal_;
  // Null: there is no state store, or it cannot be read.
  std::unique_ptr<StateStore> state_;
  BufferPool pool_;
  BufferCache buffers_;
};

absl::StatusOr<bool> Examination::OpenJournal() {
  auto opened = ClosedJournal::Open(options_.directory, files_);
  if (absl::IsDataLoss(opened.status())) {
    Damage(std::string(opened.status().message()));
    return false;
  }
  if (!opened.ok()) return opened.status();
  journal_ = *std::move(opened);
  const RecoveryReport& recovery = journal_->report();
  StoreReport::Journal& journal = report_.journal;
  journal.format = kJournalFormat;
  journal.incarnation = recovery.incarnation;
  journal.first = journal_->first_lsn();
  journal.end = journal_->end_lsn();
  journal.groups = recovery.groups;
  journal.segments = journal_->segments();
  journal.spare_segments = journal_->spare_segments();
  journal.bytes = journal_->bytes();
  // The journal of an imported store begins at a later position.
  if (recovery.is_new && journal.first == kFirstLsn) {
    Note(absl::StrCat(options_.directory,
                      ": the store is new, and holds nothing yet"));
  }
  if (!recovery.repaired.empty()) {
    Note(absl::StrCat(recovery.repaired,
                      " is missing or damaged, and the other copy is intact; "
                      "the next start of actord writes it again"));
  }
  if (!recovery.cut.empty()) {
    Note(absl::StrCat(recovery.cut,
                      ": the last group was not completely written when the "
                      "daemon ended. Nothing in it was acknowledged; the next "
                      "start of actord cuts it off"));
  }
  return true;
}

absl::Status Examination::OpenState() {
  if (options_.open_state) {
    auto opened = options_.open_state();
    if (!opened.ok()) return opened.status();
    state_ = *std::move(opened);
    return absl::OkStatus();
  }
  const std::string directory = absl::StrCat(options_.directory, "/state");
  const absl::StatusOr<std::vector<std::string>> names = files_.List(directory);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  auto opened = RocksStateStore::OpenToRead(directory);
  if (!opened.ok()) return opened.status();
  absl::Status status;
  if (options_.is_thorough) status = (*opened)->VerifyFiles();
  state_ = *std::move(opened);
  return status;
}

void Examination::Apply(OverlayState& overlay) {
  WalkedSource source = journal_->Source();
  ApplierOptions options;
  options.max_batch_bytes = std::numeric_limits<size_t>::max();
  auto opened = JournalApplier::Open(overlay, source, options);
  if (!opened.ok()) return Damage(std::string(opened.status().message()));
  JournalApplier& applier = **opened;
  report_.state.applied = applier.applied();
  report_.state.trim = applier.trim();
  if (applier.applied() < journal_->first_lsn() ||
      applier.applied() > journal_->end_lsn()) {
    return Damage(absl::StrCat(
        options_.directory, "/state stands for the records before position ",
        applier.applied(), ", but the journal holds positions ",
        journal_->first_lsn(), " to ", journal_->end_lsn(),
        ": files of the store are missing or mixed", kRestore));
  }
  absl::Status status = journal_->ForEach(
      applier.applied(),
      [&](const RecordView& record, const std::string& where) {
        const absl::Status applied = applier.Apply(record);
        if (applied.ok()) return applied;
        return absl::DataLossError(
            absl::StrCat(where, ": ", applied.message(), kRestore));
      });
  if (status.ok()) status = applier.Commit();
  if (!status.ok()) Damage(std::string(status.message()));
}

void Examination::CheckRecords() {
  const absl::Status status = journal_->ForEach(
      0, [&](const RecordView& record, const std::string& where) {
        if (record.kind == kOpenedKind) {
          if (!DecodeOpened(record.payload)) {
            Damage(absl::StrCat(where, ": the record at position ", record.lsn,
                                " is no OPENED record", kRestore));
          }
          return absl::OkStatus();
        }
        std::optional<records::Any> decoded;
        const absl::Status read =
            records::Decode(record.kind, record.flags, record.payload, decoded);
        if (!read.ok()) {
          Damage(absl::StrCat(where, ": the record at position ", record.lsn,
                              ": ", read.message(), kRestore));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) Damage(std::string(status.message()));
}

void Examination::CheckBodies(
    const std::vector<StateCheck::BodyInJournal>& bodies) {
  if (bodies.empty()) return;
  auto next = bodies.begin();
  const absl::Status status = journal_->ForEach(
      next->lsn, [&](const RecordView& record, const std::string& where) {
        for (; next != bodies.end() && next->lsn < record.lsn; ++next) {
          Damage(absl::StrCat(where,
                              ": a mailbox needs the record at position ",
                              next->lsn, ", and there is none", kRestore));
        }
        if (next == bodies.end() || next->lsn != record.lsn) {
          return absl::OkStatus();
        }
        std::optional<records::Any> decoded;
        absl::Status read =
            records::Decode(record.kind, record.flags, record.payload, decoded);
        for (; next != bodies.end() && next->lsn == record.lsn; ++next) {
          if (read.ok() && decoded.has_value()) {
            read = BodyIn(*decoded, next->index, buffers_).status();
          }
          if (read.ok() && decoded.has_value()) continue;
          Damage(absl::StrCat(where, ": a mailbox needs body ", next->index,
                              " of the record at position ", record.lsn,
                              ", which has no such body", kRestore));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return Damage(std::string(status.message()));
  for (; next != bodies.end(); ++next) {
    Damage(absl::StrCat("a mailbox needs the record at position ", next->lsn,
                        ", and the journal has none", kRestore));
  }
}

void Examination::CheckPlugins() {
  PluginFiles files(options_.directory, files_);
  const absl::StatusOr<std::vector<std::string>> present = files.List();
  if (!present.ok()) return Damage(std::string(present.status().message()));
  for (StoreReport::PluginVersion& plugin : report_.plugins) {
    plugin.is_kept =
        std::binary_search(present->begin(), present->end(), plugin.sha256);
    if (plugin.is_kept && options_.is_thorough) {
      const absl::Status status = files.Check(plugin.sha256);
      if (!status.ok()) {
        Damage(absl::StrCat(
            status.message(), ". It is the file of plugin ", plugin.name, " ",
            plugin.version,
            "; start actord with that version, which writes the file again, or "
            "copy the plugin to this place"));
      }
    } else if (!plugin.is_kept && plugin.processes != 0) {
      Note(absl::StrCat(
          files.PathOf(plugin.sha256), ": the file of plugin ", plugin.name,
          " ", plugin.version, " is missing, and ", plugin.processes,
          " processes are of this version. They need the file at this place, a "
          "daemon that loads this version, or one whose Restore takes their "
          "states"));
    }
  }
}

absl::StatusOr<StoreReport> Examination::Run() {
  const absl::StatusOr<bool> has_journal = OpenJournal();
  if (!has_journal.ok()) return has_journal.status();
  if (*has_journal && options_.is_thorough) CheckRecords();
  const absl::Status state = OpenState();
  if (absl::IsPermissionDenied(state)) return state;
  if (!state.ok()) {
    Damage(absl::StrCat(state.message(), kRestore));
    return report_;
  }
  OverlayState overlay(state_.get());
  if (*has_journal) Apply(overlay);
  // After an error, further contradictions may only follow from it.
  if (report_.is_damaged()) return report_;
  StateCheck check(overlay, report_.journal.first, report_.journal.end,
                   report_);
  const absl::Status read = check.Run();
  if (!read.ok()) {
    Damage(absl::StrCat(read.message(), kRestore));
  } else if (options_.is_thorough) {
    CheckBodies(check.bodies());
  }
  if (options_.use && *has_journal && !report_.is_damaged()) {
    absl::Status used = options_.use(overlay, *journal_);
    if (!used.ok()) return used;
  }
  CheckPlugins();
  return report_;
}

}  // namespace

absl::StatusOr<StoreReport> ExamineStore(const ExamineOptions& options) {
  ReadOnlyFiles files(*options.files);
  // Held until the end.
  const absl::StatusOr<std::unique_ptr<DirectoryLock>> lock =
      files.LockDirectory(options.directory);
  if (!lock.ok()) return lock.status();
  return Examination(options, files).Run();
}

}  // namespace actord::runtime
