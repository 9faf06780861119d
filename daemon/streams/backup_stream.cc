#include "daemon/streams/backup_stream.h"

#include <utility>

#include "daemon/wire/rpc_message.h"
#include "runtime/process/errors.h"
#include "runtime/store_tools/sha256.h"

namespace actord::daemon {

void BackupStream::Run(runtime::OpenedStore& store) {
  const absl::Status status = SendAll(store);
  audit_.Done(status);
  Close(status);
}

absl::Status BackupStream::SendAll(runtime::OpenedStore& store) {
  auto backup = store.BeginBackup();
  if (!backup.ok()) return backup.status();
  runtime::BackupManifest manifest;
  manifest.unix_seconds = clock_.UnixNs() / 1'000'000'000;
  manifest.incarnation = (*backup)->incarnation();
  manifest.position = (*backup)->position();
  for (size_t i = 0; i < (*backup)->entries().size(); ++i) {
    absl::Status status = SendEntry(**backup, i, manifest);
    if (!status.ok()) return status;
  }
  const std::string text = runtime::EncodeManifest(manifest);
  const std::string name(runtime::kManifestName);
  for (uint64_t offset = 0; offset < text.size(); offset += kPieceBytes) {
    absl::Status status =
        Push(name, offset, text.substr(offset, kPieceBytes), text.size());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status BackupStream::SendEntry(runtime::StoreBackup& backup, size_t index,
                                     runtime::BackupManifest& manifest) {
  const runtime::StoreBackup::Entry& entry = backup.entries()[index];
  runtime::Sha256 hash;
  uint64_t offset = 0;
  do {
    absl::StatusOr<std::string> piece = backup.Read(index, offset, kPieceBytes);
    if (!piece.ok()) return piece.status();
    hash.Add(*piece);
    const uint64_t at = std::exchange(offset, offset + piece->size());
    absl::Status status = Push(entry.name, at, *std::move(piece), entry.size);
    if (!status.ok()) return status;
  } while (offset < entry.bytes);
  manifest.files.push_back({.name = entry.name,
                            .bytes = entry.bytes,
                            .size = entry.size,
                            .sha256 = hash.TakeHex()});
  return absl::OkStatus();
}

absl::Status BackupStream::Push(const std::string& name, uint64_t offset,
                                std::string data, uint64_t size) {
  {
    const absl::MutexLock lock(&mutex_);
    const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ended() || (has_begun_ && !next_.has_value());
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&has_room), kPatience)) {
      return runtime::Error(
          absl::StatusCode::kAborted, runtime::reason::kBackupStalled,
          "the client has read nothing of the backup for a minute: the store "
          "keeps room for the backup, so it was ended");
    }
    if (ended()) return absl::CancelledError("the backup was ended");
    next_.emplace();
    next_->set_name(name);
    next_->set_offset(offset);
    next_->set_data(std::move(data));
    next_->set_size(size);
  }
  Continue();
  return absl::OkStatus();
}

bool BackupStream::TakeOutput() {
  has_begun_ = true;
  if (!next_.has_value()) return false;
  outgoing_ = *std::move(next_);
  next_.reset();
  return true;
}

absl::Status BackupStream::WriteOutput(grpc::ByteBuffer* bytes) {
  return WriteMessage(outgoing_, bytes);
}

void BackupStream::OnClosing(const absl::Status& status) {
  // After an error the client does not need the last piece.
  if (!status.ok()) EndLocked(status);
}

}  // namespace actord::daemon
