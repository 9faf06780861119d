// The SubmitStream call: batches of submissions, and what has become of each.
//
// A submission is
//   starting  its Init has not returned yet
//   asking    the process has started, and the stream asks for its outcome
//   awaited   the process runs, and the runtime will call back with its outcome
//   told      its last news are queued, or have been written
// A submission goes from starting to told if it is refused or if the client
// does not want its outcome. When the stream ends it stops waiting for
// outcomes; the processes go on.
//
// Bounds: the stream reads the next batch while fewer than kMaxOutstanding
// submissions are outstanding. A submission is outstanding from its begin until
// its last news are being written. Outcomes that wait to be written take at
// most kMaxWaitingBytes. An outcome above that stays with the results that the
// runtime keeps, and is fetched when it is written.
//
// Order of locks: the stream's before those of the runtime, which calls back
// without its own. The stream calls nothing that may call back while it holds
// its lock.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actord/v1/stream.pb.h"
#include "daemon/operations/idempotency.h"
#include "daemon/streams/stream.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class SubmitStream final : public BidiStream {
 public:
  static constexpr size_t kMaxOutstanding = 10'000;
  static constexpr size_t kMaxWaitingBytes = 8 << 20;

  // All are borrowed and must outlive the server.
  SubmitStream(runtime::Runtime& runtime, RequestIds& request_ids,
               OpenStreams& streams)
      : BidiStream(streams), runtime_(runtime), request_ids_(request_ids) {}

 private:
  using End = absl::StatusOr<runtime::Outcome>;

  struct Submission {
    enum class State : uint8_t { kStarting, kAsking, kAwaited, kTold };
    State state = State::kStarting;
    bool awaits = false;  // the client wants its outcome
    uint64_t index = 0;
    runtime::Pid pid;
    runtime::Runtime::AwaitId await_id = 0;  // while awaited
    std::unique_ptr<End> end;                // came while asking
    // Where it stands in news_, if that has not been swapped since.
    uint64_t news_epoch = 0;
    size_t news_position = 0;
  };

  // Of one submission.
  struct News {
    uint64_t index = 0;
    bool last = false;
    // The answer of the submission, if it is new.
    bool answered = false;
    bool duplicate = false;
    bool delivered = false;
    runtime::Pid pid;
    // Why the submission was refused; null: it was not. Kept as it will be
    // written, because a text of a process may have any length.
    std::unique_ptr<v1::Refusal> refusal;
    std::optional<End> end;  // how the process ended, if that is new
    size_t end_bytes = 0;
    bool fetches_end = false;  // `end` says only that there is an outcome
  };

  void OnMessage(const grpc::ByteBuffer& bytes) override;
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  bool ExpectsOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnOutputOver() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Called when submission `slot` is answered, and when its process has ended.
  void Answered(size_t slot, const absl::StatusOr<runtime::Pid>& pid,
                bool duplicate, bool delivered);
  void Ended(size_t slot, End end);

  size_t NewSubmission(bool awaits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The news of the submission that are not set aside yet, or new ones. Not
  // called once the stream has ended.
  News& NewsOf(Submission& submission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the last news of the submission, and releases it.
  void TellEnd(size_t slot, End end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The submission has no more news, or the stream has ended.
  void Release(size_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNews(News news, v1::SubmissionNews* proto);

  runtime::Runtime& runtime_;
  RequestIds& request_ids_;

  // These belong to the thread that handles a message.
  ReusedMessage<v1::SubmitStreamRequest> request_;
  std::vector<size_t> batch_;  // its slots

  uint64_t next_index_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those that are not told; addresses stay.
  std::deque<Submission> submissions_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> free_slots_ ABSL_GUARDED_BY(mutex_);
  size_t live_ ABSL_GUARDED_BY(mutex_) = 0;  // slots that are not free
  // Keeps this while there are any: the runtime will call back.
  std::shared_ptr<Stream> self_ ABSL_GUARDED_BY(mutex_);
  // Read, and their last news not yet set aside.
  size_t outstanding_ ABSL_GUARDED_BY(mutex_) = 0;

  bool greeted_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<News> news_ ABSL_GUARDED_BY(mutex_);
  uint64_t news_epoch_ ABSL_GUARDED_BY(mutex_) = 1;  // counts the swaps
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // Set aside. Of whoever writes, but for the moment of TakeOutput: what is
  // between `written_` and `taken_` goes into the next response.
  std::vector<News> outgoing_;
  size_t written_ = 0;
  size_t taken_ = 0;
  bool greets_ = false;
};

}  // namespace actord::daemon
