// actorctl backup

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "actord/v1/backup.pb.h"
#include "client/commands/commands.h"
#include "client/commands/store/store_path.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"
#include "runtime/files/file_system.h"
#include "runtime/store_tools/backup_manifest.h"
#include "runtime/store_tools/examine_store.h"
#include "runtime/store_tools/restore_backup.h"

namespace actord::client {
namespace {

using runtime::FileSystem;

// Writes the received pieces into the files of a directory. Each file is
// durable before the next one begins, and the manifest comes last.
class BackupWriter {
 public:
  explicit BackupWriter(std::string directory)
      : directory_(WithoutEndSlash(std::move(directory))) {}

  // The directory must not exist, or be empty.
  absl::Status Check() {
    absl::Status place = CheckNewPath(directory_);
    if (!place.ok()) return place;
    const auto names = files_.List(directory_);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
    if (!names.ok()) return names.status();
    if (names->empty()) return absl::OkStatus();
    return UsageError(absl::StrCat(
        directory_,
        " is not empty: name a directory that does not exist, or an empty "
        "one"));
  }

  absl::Status Add(const v1::BackupResponse& piece) {
    if (is_over_) return Broken("a file behind the manifest");
    // A call that is refused leaves no directory.
    if (name_.empty()) {
      absl::Status status = MakeDirectories();
      if (!status.ok()) return status;
    }
    if (file_ == nullptr || piece.name() != name_) {
      absl::Status status = EndFile();
      if (status.ok()) status = BeginFile(piece);
      if (!status.ok()) return status;
    }
    if (piece.offset() != written_ || piece.size() != size_ ||
        piece.data().size() > size_ - written_) {
      return Broken(absl::StrCat("a piece at ", piece.offset(), " of ",
                                 piece.size(), " bytes, not at ", written_));
    }
    absl::Status status = file_->Write(written_, piece.data());
    written_ += piece.data().size();
    return status;
  }

  // To be called when the stream has ended with OK.
  absl::Status End() {
    absl::Status status = EndFile();
    if (status.ok() && !is_over_) return Broken("no manifest");
    for (const char* const folder : {"/journal", "/state", "/plugins", ""}) {
      if (status.ok()) status = files_.SyncDirectory(directory_ + folder);
    }
    const std::string parent =
        std::filesystem::absolute(directory_).parent_path();
    return status.ok() ? files_.SyncDirectory(parent) : status;
  }

 private:
  absl::Status MakeDirectories() {
    absl::Status status = files_.MakeDirectory(directory_);
    if (!status.ok()) return status;
    std::error_code error;
    std::filesystem::permissions(directory_, std::filesystem::perms::owner_all,
                                 error);
    if (error) {
      return absl::InternalError(
          absl::StrCat("chmod ", directory_, ": ", error.message()));
    }
    for (const char* const folder : {"/journal", "/state", "/plugins"}) {
      if (status.ok()) status = files_.MakeDirectory(directory_ + folder);
    }
    return status;
  }

  [[nodiscard]] absl::Status Broken(const std::string& what) const {
    return absl::DataLossError(absl::StrCat(
        "the daemon has sent ", what, " in file \"", OneLine(name_),
        "\": it is of another version, or something between has changed it"));
  }

  absl::Status BeginFile(const v1::BackupResponse& piece) {
    name_ = piece.name();
    written_ = 0;
    size_ = piece.size();
    is_manifest_ = name_ == runtime::kManifestName;
    if (!is_manifest_ && !runtime::IsBackupName(name_)) {
      return Broken("a name that no file of a store has");
    }
    path_ = absl::StrCat(directory_, "/", name_);
    // The earlier files must be durable before the manifest names them.
    if (is_manifest_) {
      for (const char* const folder : {"/journal", "/state", "/plugins", ""}) {
        absl::Status status = files_.SyncDirectory(directory_ + folder);
        if (!status.ok()) return status;
      }
    }
    auto opened = files_.Open(path_, runtime::OpenMode::kCreate);
    if (!opened.ok()) return opened.status();
    file_ = *std::move(opened);
    return absl::OkStatus();
  }

  absl::Status EndFile() {
    if (file_ == nullptr) return absl::OkStatus();
    if (is_manifest_ && written_ != size_) return Broken("a part of it alone");
    if (size_ - written_ > runtime::kMostZeros) {
      return Broken("a size that no file of a store has");
    }
    is_over_ = is_manifest_;
    // The rest of the file is zeros, which take no room here.
    std::error_code error;
    std::filesystem::resize_file(path_, size_, error);
    if (error) {
      return absl::InternalError(
          absl::StrCat("truncate ", path_, ": ", error.message()));
    }
    const auto file = std::exchange(file_, nullptr);
    return file->SyncData();
  }

  FileSystem& files_ = FileSystem::System();
  const std::string directory_;
  std::string name_;
  std::string path_;
  std::unique_ptr<runtime::File> file_;
  uint64_t written_ = 0;
  uint64_t size_ = 0;
  bool is_manifest_ = false;
  bool is_over_ = false;
};

// A daemon serves a store whose state is damaged in part, and a copy of it has
// the same damage.
ExitStatus CheckCopy(Invocation& invocation, const std::string& directory) {
  const auto report =
      runtime::ExamineStore({.directory = WithoutEndSlash(directory)});
  if (!report.ok()) return invocation.Fail(report.status());
  if (!report->is_damaged()) return ExitStatus::kDone;
  for (const runtime::StoreReport::Finding& finding : report->findings) {
    if (finding.is_damage) invocation.Complain("damage: " + finding.text);
  }
  invocation.Complain(
      "the store of the daemon is damaged, and so is this copy: keep older "
      "backups. \"actorctl store verify\" lists all damage");
  return ExitStatus::kStoreRefused;
}

ExitStatus RunBackup(Invocation& invocation, const std::string& directory) {
  BackupWriter writer(directory);
  absl::Status status = writer.Check();
  if (!status.ok()) return invocation.Fail(status);
  status = invocation.client().Backup(
      {}, [&](const v1::BackupResponse& piece) { return writer.Add(piece); },
      invocation.Waiting());
  if (status.ok()) status = writer.End();
  if (!status.ok()) {
    return invocation.Fail(status, "backup into " + directory);
  }
  // Checks that the disk has the bytes that the daemon has read.
  const auto manifest = runtime::CheckBackup(directory, FileSystem::System());
  if (!manifest.ok()) return invocation.Fail(manifest.status());
  uint64_t bytes = 0;
  for (const runtime::BackupManifest::File& file : manifest->files) {
    bytes += file.bytes;
  }
  const size_t files = manifest->files.size();
  WriteOne(invocation.out(), invocation.style(),
           {{"directory", directory},
            {"position", manifest->position},
            {"incarnation", manifest->incarnation},
            {"files", files},
            {"bytes", bytes}},
           directory, [&] {
             invocation.out()
                 << OneLine(directory) << ": " << WithThousands(files)
                 << " files, " << ShortBytes(bytes) << ", up to position "
                 << WithThousands(manifest->position) << '\n';
           });
  return CheckCopy(invocation, directory);
}

constexpr char kBackupFooter[] = R"(
Copies the store of the daemon, while it serves, into DIR, a new or an empty directory.
Everything that was acknowledged before the command is in the backup. Each file
is synced, and the file BACKUP comes last: a directory without it is not a complete backup.
At the end all files are read again, compared with their SHA-256, and checked as by
"actorctl store verify".

To restore: actord --restore DIR --store NEW. Keep the directory private: it holds all
payloads.
Exit status: 0 done, 1 failed, such as a full disk, 2 DIR is a file or not empty, 3 no
parent of DIR, 4 not allowed, 5 no daemon, 78 the store of the daemon is damaged, so keep
an older backup.

Examples:
  actorctl backup /backup/$(date +%F)
  actorctl backup /backup/now -o json | jq .position
)";

}  // namespace

void AddBackup(CLI::App& app, Action& chosen) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "backup", "Copy the store of the daemon while it serves");
  command->footer(kBackupFooter);
  command->add_option("DIR", *directory, "Directory for the copy")
      ->required()
      ->type_name("");
  command->callback([&chosen, directory] {
    chosen = [directory](Invocation& invocation) {
      return RunBackup(invocation, *directory);
    };
  });
}

}  // namespace actord::client
