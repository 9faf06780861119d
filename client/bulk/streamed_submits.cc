#include "client/bulk/streamed_submits.h"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actord/v1/stream.pb.h"
#include "client/calls/batch.h"
#include "client/calls/error.h"
#include "client/calls/mutex.h"

namespace actord::client {

class StreamedSubmits::Core final
    : private grpc::ClientBidiReactor<v1::SubmitStreamRequest,
                                      v1::SubmitStreamResponse> {
 public:
  Core(const Endpoint& endpoint, v1::ActorService::Stub& stub,
       const StreamedSubmitsOptions& options)
      : endpoint_(endpoint), stub_(stub), options_(options) {}
  ~Core();

  void Start(const v1::SubmitRequest& request, Done done, Alone alone);
  void Cancel();

 private:
  enum class State {
    kNone,     // no stream: there was no submission
    kOpening,  // the daemon has not greeted
    kOpen,     // submissions go over the stream
    kLeaving,  // the stream has ended; the callbacks of its submissions run
    kLeft,     // each submission goes alone
  };
  struct Item {
    const v1::SubmitRequest* request = nullptr;  // null: it is written
    Done done;
    Alone alone;
  };
  struct Answered {
    Done done;
    absl::StatusOr<v1::SubmitResponse> answer;
  };

  void Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Half-closes a stream that has nothing to answer, and cancels any other.
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes what waits, and sets the alarm if an answer is expected.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the answers out of `response_`.
  std::vector<Answered> TakeAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool ExpectsAnswer() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return state_ == State::kOpening ||
           (state_ == State::kOpen && !sent_.empty());
  }
  // Ends the stream if no answer has come since the alarm was set.
  void Ring(bool in_time);
  // From now on only gRPC's callbacks start operations.
  void LetGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(let_go_, true)) RemoveHold();
  }
  [[nodiscard]] absl::Status WhyEnded(const grpc::Status& status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const Endpoint& endpoint_;
  v1::ActorService::Stub& stub_;
  const StreamedSubmitsOptions options_;
  grpc::ClientContext context_;
  // Used by gRPC, or by OnReadDone.
  v1::SubmitStreamResponse response_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNone;
  std::deque<Item> waiting_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Item> sent_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_index_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Used by gRPC while writing_.
  v1::SubmitStreamRequest batch_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Answers are given. The submissions that they make room for become one
  // batch.
  bool is_answering_ ABSL_GUARDED_BY(mutex_) = false;
  bool let_go_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_stalled_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t answers_ ABSL_GUARDED_BY(mutex_) = 0;
  // Null: nothing is waited for.
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  // `answers_` when the alarm was set.
  uint64_t checked_answers_ ABSL_GUARDED_BY(mutex_) = 0;
};

StreamedSubmits::Core::~Core() {
  const absl::Time patience_ends = absl::Now() + kStreamEndPatience;
  const MutexLock lock(mutex_);
  End();
  if (state_ == State::kNone) return;
  while (state_ != State::kLeft || alarm_ != nullptr) {
    if (absl::Now() >= patience_ends) context_.TryCancel();
    changed_.wait_for(mutex_, absl::ToChronoNanoseconds(kStreamEndPatience));
  }
}

void StreamedSubmits::Core::Start(const v1::SubmitRequest& request, Done done,
                                  Alone alone) {
  {
    const MutexLock lock(mutex_);
    if (state_ == State::kNone && !is_cancelled_) Open();
    const bool can_take = (state_ == State::kOpening || state_ == State::kOpen);
    if (can_take && !is_cancelled_ &&
        request.ByteSizeLong() <= kMaxStreamedItemBytes) {
      waiting_.push_back({&request, std::move(done), std::move(alone)});
      Advance();
      return;
    }
  }
  alone();
}

void StreamedSubmits::Core::Cancel() {
  const MutexLock lock(mutex_);
  End();
}

void StreamedSubmits::Core::End() {
  if (std::exchange(is_cancelled_, true)) return;
  if (alarm_ != nullptr) alarm_->Cancel();
  const bool is_idle = waiting_.empty() && sent_.empty() && !writing_;
  if (state_ == State::kOpen && is_idle && !let_go_) {
    StartWritesDone();
    LetGo();
  } else if (state_ == State::kOpening || state_ == State::kOpen) {
    context_.TryCancel();
  }
}

void StreamedSubmits::Core::Open() {
  if (!CheckEndpoint(endpoint_).ok()) {
    // The call of each submission fails with this error.
    state_ = State::kLeft;
    return;
  }
  state_ = State::kOpening;
  AddToken(endpoint_, context_);
  SetDeadline(options_.deadline, context_);
  stub_.async()->SubmitStream(&context_, this);
  // A hold for the writes that Start begins.
  AddHold();
  StartRead(&response_);
  StartCall();
}

void StreamedSubmits::Core::Advance() {
  if (is_cancelled_) return;  // OnDone ends what waits.
  if (state_ == State::kOpen && !writing_ && !is_answering_ && !let_go_ &&
      !waiting_.empty()) {
    WriteBatch();
  }
  if (alarm_ != nullptr || !ExpectsAnswer()) return;
  checked_answers_ = answers_;
  alarm_ = std::make_unique<grpc::Alarm>();
  // Set does not call Ring on this thread.
  alarm_->Set(absl::ToChronoTime(absl::Now() + options_.patience),
              [this](bool in_time) { Ring(in_time); });
}

void StreamedSubmits::Core::WriteBatch() {
  batch_.Clear();
  size_t bytes = 0;
  while (!waiting_.empty() && batch_.submissions_size() < kMaxBatchItems) {
    bytes += waiting_.front().request->ByteSizeLong();
    if (batch_.submissions_size() != 0 && bytes > kMaxBatchBytes) break;
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    *batch_.add_submissions() = *std::exchange(item.request, nullptr);
    sent_.emplace(next_index_++, std::move(item));
  }
  writing_ = true;
  StartWrite(&batch_);
}

std::vector<StreamedSubmits::Core::Answered>
StreamedSubmits::Core::TakeAnswers() {
  std::vector<Answered> answered;
  answered.reserve(static_cast<size_t>(response_.news_size()));
  for (v1::SubmissionNews& news : *response_.mutable_news()) {
    auto item = sent_.extract(news.index());
    if (item.empty()) continue;
    absl::StatusOr<v1::SubmitResponse> answer =
        absl::InternalError("the daemon has answered without a result");
    if (news.has_refusal()) {
      answer = FromRefusal(news.refusal());
    } else if (news.has_submitted()) {
      answer = std::move(*news.mutable_submitted());
    }
    answered.push_back({std::move(item.mapped().done), std::move(answer)});
  }
  return answered;
}

void StreamedSubmits::Core::OnReadDone(bool ok) {
  std::vector<Answered> answered;
  {
    const MutexLock lock(mutex_);
    if (!ok) {
      LetGo();
      return;
    }
    ++answers_;
    if (state_ == State::kOpening) state_ = State::kOpen;
    answered = TakeAnswers();
    is_answering_ = true;
  }
  for (Answered& one : answered) one.done(std::move(one.answer));
  {
    const MutexLock lock(mutex_);
    is_answering_ = false;
    // The time that the callers took is not the daemon's.
    ++answers_;
    Advance();
  }
  StartRead(&response_);
}

void StreamedSubmits::Core::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  // If the write has failed the stream is over, and OnReadDone handles it.
  if (ok) Advance();
}

absl::Status StreamedSubmits::Core::WhyEnded(const grpc::Status& status) const {
  if (has_stalled_) {
    return absl::DeadlineExceededError(
        absl::StrCat("the daemon has answered nothing for ",
                     absl::FormatDuration(options_.patience)));
  }
  if (status.ok()) {
    return absl::UnavailableError("the daemon has ended the stream");
  }
  return FromGrpc(status);
}

void StreamedSubmits::Core::OnDone(const grpc::Status& status) {
  std::deque<Item> waiting;
  std::unordered_map<uint64_t, Item> sent;
  absl::Status why;
  bool is_cancelled = false;
  {
    const MutexLock lock(mutex_);
    state_ = State::kLeaving;
    waiting.swap(waiting_);
    sent.swap(sent_);
    why = WhyEnded(status);
    is_cancelled = is_cancelled_;
  }
  for (auto& [index, item] : sent) item.done(MarkUnanswered(why));
  for (Item& item : waiting) {
    if (is_cancelled) {
      item.done(absl::CancelledError("cancelled before it was sent"));
    } else {
      item.alone();
    }
  }
  const MutexLock lock(mutex_);
  state_ = State::kLeft;
  if (alarm_ != nullptr) alarm_->Cancel();
  changed_.notify_all();
}

void StreamedSubmits::Core::Ring(bool in_time) {
  // Destroyed at the end, because it owns this very callback.
  std::unique_ptr<grpc::Alarm> rung;
  const MutexLock lock(mutex_);
  rung = std::move(alarm_);
  if (in_time && ExpectsAnswer() && !is_answering_ &&
      answers_ == checked_answers_) {
    has_stalled_ = true;
    context_.TryCancel();
  } else {
    Advance();
  }
  changed_.notify_all();
}

StreamedSubmits::StreamedSubmits(const Endpoint& endpoint,
                                 v1::ActorService::Stub& stub,
                                 const StreamedSubmitsOptions& options)
    : core_(std::make_unique<Core>(endpoint, stub, options)) {}

StreamedSubmits::~StreamedSubmits() = default;

void StreamedSubmits::Start(const v1::SubmitRequest& request, Done done,
                            Alone alone) {
  core_->Start(request, std::move(done), std::move(alone));
}

void StreamedSubmits::Cancel() { core_->Cancel(); }

}  // namespace actord::client
