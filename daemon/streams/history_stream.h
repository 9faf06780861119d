// The ReadHistory call.
//
// Bounds: the thread reads the next entries when the last ones were taken for a
// write. So for a client that does not read, the stream holds two responses.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "absl/base/thread_annotations.h"
#include "actord/v1/history.pb.h"
#include "daemon/streams/history_thread.h"
#include "daemon/streams/stream.h"
#include "runtime/history/history_item.h"
#include "runtime/history/history_reader.h"
#include "runtime/process/listed/noted_step.h"

namespace actord::daemon {

// Writes one entry. With `hides_payloads` leaves out the payload and every text
// that may contain a part of it.
void WriteHistoryEntry(const runtime::HistoryItem& item, bool hides_payloads,
                       v1::HistoryEntry* proto);

// Appends the entries of noted steps: each step, its events and its effects.
void WriteNotedSteps(
    const std::vector<runtime::NotedStep>& steps,
    google::protobuf::RepeatedPtrField<v1::HistoryEntry>* entries);

// While the stream is open, the thread keeps it alive too.
class HistoryStream final : public WriteStream, public HistoryWork {
 public:
  // Borrows its arguments, which must outlive the server.
  HistoryStream(HistoryThread& thread, const runtime::HistoryOrder& order,
                OpenStreams& streams, const Access& access)
      : WriteStream(streams, access),
        thread_(thread),
        reader_(thread.store(), order) {}

  // To be called once, before the stream begins. RESOURCE_EXHAUSTED
  // (HISTORY_LIMIT): the stream must not begin.
  absl::Status Open();

  // HistoryWork.
  Next Do() override;

 private:
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;

  HistoryThread& thread_;
  runtime::HistoryReader reader_;  // the thread's
  // Entries that the thread has read.
  std::vector<runtime::HistoryItem> read_ ABSL_GUARDED_BY(mutex_);
  // Entries that gRPC writes now.
  std::vector<runtime::HistoryItem> outgoing_;
};

}  // namespace actord::daemon
