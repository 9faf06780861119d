#include "daemon/streams/submit_stream.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <utility>

#include "daemon/operations/carry_out.h"
#include "daemon/plugins/near_type.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {
namespace {

// The limits of one response. Clients accept 4 MiB by default. An outcome above
// the limit gets its own response.
constexpr size_t kMaxResponseNews = 1000;
constexpr size_t kMaxResponseBytes = 1 << 20;
// The size of news without an outcome. A refusal is about as long.
constexpr size_t kNewsBytes = 128;
// Room for some tens of news.
constexpr size_t kArenaBlockBytes = 16 << 10;

size_t BytesOf(const absl::StatusOr<runtime::Outcome>& end) {
  return end.ok() ? end->result.bytes.size() + end->message.size() : 0;
}

}  // namespace

// Reading.

bool SubmitStream::WantsMessage() { return outstanding_ < kMaxOutstanding; }

void SubmitStream::OnMessage(const grpc::ByteBuffer& bytes) {
  v1::SubmitStreamRequest& request = request_.get();
  const int items =
      CountField(bytes, v1::SubmitStreamRequest::kSubmissionsFieldNumber);
  Charge(items, bytes.Length());
  absl::Status status = CheckBatch("submissions", items);
  if (status.ok()) status = ReadMessage(bytes, &request);
  if (!status.ok()) {
    // The stream stays open until its remaining output is written.
    request_.Drop();
    Handled(status);
    return;
  }
  const Access access = this->access();
  const int count = request.submissions_size();
  batch_.clear();
  {
    const absl::MutexLock lock(&mutex_);
    // Once the stream has ended, the client would not receive the answers.
    for (int i = 0; i < count && !ended(); ++i) {
      batch_.push_back(NewSubmission(request.await_outcomes()));
    }
  }
  const CallTrace trace(trace_);
  for (size_t i = 0; i < batch_.size(); ++i) {
    const size_t slot = batch_[i];
    CarryOutSubmit(runtime_, access, request_ids_,
                   request.mutable_submissions(static_cast<int>(i)),
                   [this, slot](const absl::StatusOr<runtime::Pid>& pid,
                                bool duplicate, bool delivered) {
                     Answered(slot, pid, duplicate, delivered);
                   });
  }
  request_.Used(bytes.Length());
  Handled(absl::OkStatus());
}

size_t SubmitStream::NewSubmission(bool awaits) {
  size_t slot = submissions_.size();
  if (free_slots_.empty()) {
    submissions_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Submission& submission = submissions_[slot];
  submission = Submission{};
  submission.awaits = awaits;
  submission.index = next_index_++;
  if (live_++ == 0) self_ = shared_from_this();
  ++outstanding_;
  return slot;
}

// Following the submissions.

void SubmitStream::Answered(size_t slot,
                            const absl::StatusOr<runtime::Pid>& pid,
                            bool duplicate, bool delivered) {
  // Destroyed after the lock is released.
  const std::shared_ptr<Stream> self = shared_from_this();
  std::unique_ptr<v1::Refusal> refusal;
  if (!pid.ok()) {
    refusal = std::make_unique<v1::Refusal>();
    WriteRefusal(NameNearest(pid.status(), catalog_), refusal.get());
  }
  bool asks = false;
  {
    const absl::MutexLock lock(&mutex_);
    Submission& submission = submissions_[slot];
    if (ended()) {
      Release(slot);
      return;
    }
    asks = pid.ok() && submission.awaits;
    News& news = NewsOf(submission);
    news.answered = true;
    news.duplicate = duplicate;
    news.delivered = delivered;
    if (pid.ok()) {
      news.pid = submission.pid = *pid;
    } else {
      news.refusal = std::move(refusal);
    }
    if (asks) {
      submission.state = Submission::State::kAsking;
    } else {
      news.last = true;
      Release(slot);
    }
  }
  if (asks) {
    const runtime::Runtime::AwaitId id = runtime_.Await(
        *pid, [this, slot](End end) { Ended(slot, std::move(end)); });
    const absl::MutexLock lock(&mutex_);
    Submission& submission = submissions_[slot];
    submission.state = Submission::State::kAwaited;
    submission.await_id = id;
    if (submission.end != nullptr) {
      TellEnd(slot, std::move(*submission.end));
    } else if (ended() && runtime_.CancelAwait(*pid, id)) {
      Release(slot);
    }
  }
  Continue();
}

void SubmitStream::Ended(size_t slot, End end) {
  const std::shared_ptr<Stream> self = shared_from_this();
  {
    const absl::MutexLock lock(&mutex_);
    Submission& submission = submissions_[slot];
    if (submission.state == Submission::State::kAsking) {
      submission.end = std::make_unique<End>(std::move(end));
      return;
    }
    TellEnd(slot, std::move(end));
  }
  Continue();
}

SubmitStream::News& SubmitStream::NewsOf(Submission& submission) {
  if (submission.news_epoch != news_epoch_) {
    submission.news_epoch = news_epoch_;
    submission.news_position = news_.size();
    news_.emplace_back().index = submission.index;
    news_.back().pid = submission.pid;
  }
  return news_[submission.news_position];
}

void SubmitStream::TellEnd(size_t slot, End end) {
  if (ended()) {
    Release(slot);
    return;
  }
  News& news = NewsOf(submissions_[slot]);
  const size_t bytes = BytesOf(end);
  news.last = true;
  if (bytes != 0 && waiting_bytes_ + bytes > kMaxWaitingBytes &&
      waiting_bytes_ != 0) {
    news.fetches_end = true;
  } else {
    waiting_bytes_ += bytes;
    news.end = std::move(end);
  }
  news.end_bytes = bytes;
  Release(slot);
}

void SubmitStream::Release(size_t slot) {
  Submission& submission = submissions_[slot];
  submission.state = Submission::State::kTold;
  // Released now, because the slot may stay free for long.
  submission.end.reset();
  free_slots_.push_back(slot);
  if (--live_ == 0) self_.reset();
}

void SubmitStream::OnEnded() {
  std::vector<News>().swap(news_);
  for (size_t slot = 0; slot < submissions_.size(); ++slot) {
    Submission& submission = submissions_[slot];
    // For an asking submission, the asking thread sees that the stream has
    // ended.
    if (submission.state != Submission::State::kAwaited) continue;
    // If the wait cannot be cancelled, the submission's Ended is running or
    // about to run.
    if (runtime_.CancelAwait(submission.pid, submission.await_id)) {
      Release(slot);
    }
  }
}

void SubmitStream::OnOutputOver() {
  std::vector<News>().swap(outgoing_);
  written_ = taken_ = 0;
}

// Writing.

bool SubmitStream::ExpectsOutput() { return live_ != 0; }

bool SubmitStream::TakeOutput() {
  if (!greeted_) {
    greeted_ = greets_ = true;
    return true;
  }
  if (taken_ == outgoing_.size()) {
    if (news_.empty()) return false;
    outgoing_.clear();
    outgoing_.swap(news_);
    ++news_epoch_;
    taken_ = 0;
  }
  written_ = taken_;
  size_t bytes = 0;
  while (taken_ < outgoing_.size() && taken_ - written_ < kMaxResponseNews) {
    const News& news = outgoing_[taken_];
    bytes += kNewsBytes + news.end_bytes;
    if (taken_ != written_ && bytes > kMaxResponseBytes) break;
    if (news.last) --outstanding_;
    if (!news.fetches_end) waiting_bytes_ -= news.end_bytes;
    ++taken_;
  }
  return true;
}

absl::Status SubmitStream::WriteOutput(grpc::ByteBuffer* bytes) {
  google::protobuf::ArenaOptions options;
  options.start_block_size = kArenaBlockBytes;
  options.max_block_size = kArenaBlockBytes;
  google::protobuf::Arena arena(options);
  auto& response =
      *google::protobuf::Arena::CreateMessage<v1::SubmitStreamResponse>(&arena);
  if (std::exchange(greets_, false)) {
    response.set_max_outstanding(kMaxOutstanding);
  }
  response.mutable_news()->Reserve(static_cast<int>(taken_ - written_));
  for (; written_ != taken_; ++written_) {
    // Moves the news out, so that an idle stream holds no outcomes.
    WriteNews(std::move(outgoing_[written_]), response.add_news());
  }
  return WriteMessage(response, bytes);
}

void SubmitStream::WriteNews(News news, v1::SubmissionNews* proto) {
  proto->set_index(news.index);
  if (news.refusal != nullptr) {
    *proto->mutable_refusal() = *news.refusal;
    return;
  }
  if (news.answered) {
    v1::SubmitResponse& submitted = *proto->mutable_submitted();
    submitted.set_pid(runtime::FormatPid(news.pid));
    submitted.set_durability(DurabilityOf(news.pid));
    submitted.set_receipt(ReceiptOf(news.pid));
    submitted.set_duplicate(news.duplicate);
    submitted.set_delivered(news.delivered);
  }
  const auto write_end = [&news, proto](End end) {
    if (end.ok()) {
      WriteOutcome(news.pid, *std::move(end), proto->mutable_outcome());
    } else {
      WriteRefusal(end.status(), proto->mutable_outcome_refusal());
    }
  };
  if (news.fetches_end) {
    // Only from memory: this thread must not wait for the store. The client can
    // await an outcome that only the store has.
    write_end(runtime_.OutcomeInMemory(news.pid));
  } else if (news.end.has_value()) {
    write_end(*std::move(news.end));
  }
}

}  // namespace actord::daemon
