// The Backup call: the files of a copy of the store, piece by piece, and then
// the manifest.
//
// The thread of the backup (BackupThread) reads a piece and waits until the
// stream has taken it.
//
// Bounds: the stream holds two pieces. A client that takes no piece for
// kPatience ends the call.
//
// Thread-safety: any thread; Run by the thread of the backup.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/backup.pb.h"
#include "daemon/access/audit.h"
#include "daemon/streams/stream.h"
#include "runtime/durable/opened_store.h"
#include "runtime/store_tools/backup_manifest.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class BackupStream final : public WriteStream {
 public:
  static constexpr absl::Duration kPatience = absl::Minutes(1);
  static constexpr uint64_t kPieceBytes = uint64_t{256} << 10;

  // Borrows `streams` and `clock`.
  BackupStream(OpenStreams& streams, Access access, const runtime::Clock& clock,
               AuditEntry audit)
      : WriteStream(streams, std::move(access)),
        clock_(clock),
        audit_(std::move(audit)) {}

  // Makes the backup and sends it. Returns when the stream has its last piece,
  // or has ended.
  void Run(runtime::OpenedStore& store);

 private:
  absl::Status SendAll(runtime::OpenedStore& store);
  // Sends one entry of the backup, and adds it to the manifest.
  absl::Status SendEntry(runtime::StoreBackup& backup, size_t index,
                         runtime::BackupManifest& manifest);
  // Waits until the stream has taken the previous piece. An error: the stream
  // has ended, or the client reads nothing.
  absl::Status Push(const std::string& name, uint64_t offset, std::string data,
                    uint64_t size);

  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  void OnClosing(const absl::Status& status) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const runtime::Clock& clock_;
  const AuditEntry audit_;
  // gRPC has the stream.
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<v1::BackupResponse> next_ ABSL_GUARDED_BY(mutex_);
  // The content that was set aside.
  v1::BackupResponse outgoing_;
};

}  // namespace actord::daemon
