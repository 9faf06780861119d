// The SubmitStream call: batches of submissions, and what has become of each.
//
// A submission is
//   starting  its Init has not returned yet
//   asking    it has been started, and its outcome is being asked for
//   awaited   it runs, and its outcome will come
//   told      whatever is to be said of it is among the news, or was
// Starting ends in told if it was refused or if nobody wants its outcome. What
// awaits or is about to is given up when the stream ends; the process goes on.
//
// Bounds: the next batch is read while fewer than kMaxOutstanding submissions
// are outstanding: begun, and not yet on their way to the client with their
// last news. Outcomes that wait to be written take kMaxWaitingBytes at most;
// one above is left with the results that the runtime keeps and fetched from
// there when its turn has come.
//
// Order of locks: the stream's before those of the runtime, which calls back
// without its own. Nothing that may call back is called under the stream's.
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
    // How Submit was answered, if that is new.
    bool answered = false;
    bool duplicate = false;
    bool delivered = false;
    runtime::Pid pid;
    // Why it was not; null: it was. As it will be written, for a text of a
    // process may have any length.
    std::unique_ptr<v1::Refusal> refusal;
    std::optional<End> end;  // how the process ended, if that is new
    size_t end_bytes = 0;
    bool fetches_end = false;  // of `end` only that it is there
  };

  void OnMessage(const grpc::ByteBuffer& bytes) override;
  bool WantsMessage() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteOutput(grpc::ByteBuffer* bytes) override;
  bool ExpectsOutput() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnded() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnOutputOver() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Submission `slot` was answered; its process has ended.
  void Answered(size_t slot, const absl::StatusOr<runtime::Pid>& pid,
                bool duplicate, bool delivered);
  void Ended(size_t slot, End end);

  size_t NewSubmission(bool awaits) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its news: those that are not set aside yet, or new ones. Not once the
  // stream has ended, when they would be for nobody.
  News& NewsOf(Submission& submission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its last news, which release it.
  void TellEnd(size_t slot, End end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing more is to be told of it, or nobody listens.
  void Release(size_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNews(News news, v1::SubmissionNews* proto);

  runtime::Runtime& runtime_;
  RequestIds& request_ids_;

  // Of whoever handles a message.
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
