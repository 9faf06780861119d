// The SubmitStream call: batches of submissions, and news of each submission.
//
// A submission is
//   starting  The Init of its process has not returned yet.
//   asking    The process has started, and the stream asks for its outcome.
//   awaited   The process runs, and the runtime will call back with its
//   outcome. told      The last news of the submission are queued or have been
//   written.
// A submission goes from starting to told if it is refused or if the client
// does not want its outcome. When the stream ends, it stops waiting for
// outcomes; the processes continue.
//
// Bounds: the stream reads the next batch while fewer than kMaxOutstanding
// submissions are outstanding. A submission is outstanding from its start until
// its last news are being written. Outcomes that wait to be written take at
// most kMaxWaitingBytes. An outcome above that limit stays with the results
// that the runtime keeps, and is fetched when it is written.
//
// Order of locks: the stream's lock before the runtime's locks. The runtime
// holds no lock when it calls back. While the stream holds its lock, it calls
// no function that may call back.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actord/v1/stream.pb.h"
#include "daemon/streams/stream.h"
#include "runtime/actors/request_ids.h"
#include "runtime/process/catalog.h"
#include "runtime/runtime.h"
#include "runtime/tracing/trace_context.h"

namespace actord::daemon {

class SubmitStream final : public BidiStream {
 public:
  static constexpr size_t kMaxOutstanding = 10'000;
  static constexpr size_t kMaxWaitingBytes = 8 << 20;

  // Borrows its arguments, which must outlive the server.
  SubmitStream(runtime::Runtime& runtime, const runtime::Catalog& catalog,
               runtime::RequestIds& request_ids, OpenStreams& streams,
               Access access, std::optional<runtime::TraceContext> trace)
      : BidiStream(streams, std::move(access)),
        runtime_(runtime),
        catalog_(catalog),
        request_ids_(request_ids),
        trace_(std::move(trace)) {}

 private:
  using End = absl::StatusOr<runtime::Outcome>;

  struct Submission {
    enum class State : uint8_t { kStarting, kAsking, kAwaited, kTold };
    State state = State::kStarting;
    bool awaits = false;  // the client wants its outcome
    uint64_t index = 0;
    runtime::Pid pid;
    runtime::Runtime::AwaitId await_id = 0;  // set while awaited
    std::unique_ptr<End> end;                // arrived while asking
    // The place of its news in `news_`; valid while the epoch equals
    // `news_epoch_`.
    uint64_t news_epoch = 0;
    size_t news_position = 0;
  };

  // The news of one submission.
  struct News {
    uint64_t index = 0;
    bool last = false;
    // The next four fields are the answer to the submission, if it is new.
    bool answered = false;
    bool duplicate = false;
    bool delivered = false;
    runtime::Pid pid;
    // Why the submission was refused; null: it was not refused. Stored in its
    // final form, because the text of a process may have any length.
    std::unique_ptr<v1::Refusal> refusal;
    std::optional<End> end;  // how the process ended, if that is new
    size_t end_bytes = 0;
    // The outcome is not in `end`, and is fetched from the runtime when these
    // news are written.
    bool fetches_end = false;
  };

  void OnMessage(const grpc::ByteBuffer& bytes) override;
  [[nodiscard]] bool IsPaced() const override { return true; }
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  bool ExpectsOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnOutputOver() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Answered is called when submission `slot` is answered, and Ended when its
  // process has ended.
  void Answered(size_t slot, const absl::StatusOr<runtime::Pid>& pid,
                bool duplicate, bool delivered);
  void Ended(size_t slot, End end);

  size_t NewSubmission(bool awaits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the news of the submission that are not set aside yet, or adds new
  // ones. Not called once the stream has ended.
  News& NewsOf(Submission& submission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the last news of the submission, and releases its slot.
  void TellEnd(size_t slot, End end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frees the slot. Called when the submission has no more news, or when the
  // stream has ended.
  void Release(size_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNews(News news, v1::SubmissionNews* proto);

  runtime::Runtime& runtime_;
  const runtime::Catalog& catalog_;  // of the types that a client may mean
  runtime::RequestIds& request_ids_;
  // Of the call: that of items without a trace of their own.
  const std::optional<runtime::TraceContext> trace_;

  // These two belong to the thread that handles a message.
  ReusedMessage<v1::SubmitStreamRequest> request_;
  std::vector<size_t> batch_;  // the slots of its submissions

  uint64_t next_index_ ABSL_GUARDED_BY(mutex_) = 0;
  // All slots, by number. The addresses of the submissions do not change.
  std::deque<Submission> submissions_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> free_slots_ ABSL_GUARDED_BY(mutex_);
  size_t live_ ABSL_GUARDED_BY(mutex_) = 0;  // number of slots in use
  // Keeps this stream alive while `live_` is not 0, because the runtime will
  // call back.
  std::shared_ptr<Stream> self_ ABSL_GUARDED_BY(mutex_);
  // The number of submissions that have been read and whose last news are not
  // set aside yet.
  size_t outstanding_ ABSL_GUARDED_BY(mutex_) = 0;

  bool greeted_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<News> news_ ABSL_GUARDED_BY(mutex_);
  uint64_t news_epoch_ ABSL_GUARDED_BY(mutex_) = 1;  // counts the swaps
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // The content that was set aside. The news from `written_` to `taken_` go
  // into the next response. These members belong to the thread in TakeOutput,
  // and afterwards to the thread that writes.
  std::vector<News> outgoing_;
  size_t written_ = 0;
  size_t taken_ = 0;
  bool greets_ = false;
};

}  // namespace actord::daemon
