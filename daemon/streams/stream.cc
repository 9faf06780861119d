#include "daemon/streams/stream.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {

// OpenStreams.

void OpenStreams::Add(const std::shared_ptr<Stream>& stream, std::string peer) {
  absl::Status closed;
  {
    const absl::MutexLock lock(&mutex_);
    ++of_peer_[peer];
    open_.emplace(stream.get(), Entry{stream, std::move(peer)});
    closed = closed_;
  }
  if (!closed.ok()) stream->Close(closed);
}

void OpenStreams::Remove(Stream* stream) {
  // Destroyed after the lock is released.
  std::shared_ptr<Stream> last;
  const absl::MutexLock lock(&mutex_);
  const auto it = open_.find(stream);
  last = std::move(it->second.stream);
  const auto count = of_peer_.find(it->second.peer);
  if (--count->second == 0) of_peer_.erase(count);
  open_.erase(it);
}

void OpenStreams::CloseAll(const absl::Status& status) {
  std::vector<std::shared_ptr<Stream>> open;
  {
    const absl::MutexLock lock(&mutex_);
    closed_ = status;
    for (const auto& [key, entry] : open_) open.push_back(entry.stream);
  }
  for (const auto& stream : open) stream->Close(status);
}

void OpenStreams::Recheck(const Renew& renew) {
  std::vector<std::shared_ptr<Stream>> open;
  {
    const absl::MutexLock lock(&mutex_);
    open.reserve(open_.size());
    for (const auto& [key, entry] : open_) open.push_back(entry.stream);
  }
  for (const auto& stream : open) stream->Recheck(renew);
}

size_t OpenStreams::size() const {
  const absl::MutexLock lock(&mutex_);
  return open_.size();
}

size_t OpenStreams::OpenOf(const std::string& peer) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = of_peer_.find(peer);
  return found == of_peer_.end() ? 0 : found->second;
}

// Beginning and ending.

void Stream::BeginCall(const std::string& peer) {
  Continue();
  streams_.Add(shared_from_this(), peer);
}

void Stream::End(const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  EndLocked(status);
}

void Stream::EndLocked(const absl::Status& status) {
  if (end_.has_value()) return;
  end_ = status;
  OnEnded();
  // During a write, WriteDone finishes the call.
  if (!writing_) FinishLocked();
}

void Stream::FinishLocked() {
  OnOutputOver();
  FinishCall(ToGrpcStatus(*end_));
}

void Stream::Close(const absl::Status& status) {
  {
    const absl::MutexLock lock(&mutex_);
    CloseLocked(status);
  }
  Continue();
}

void Stream::CloseLocked(const absl::Status& status) {
  if (end_.has_value() || close_.has_value()) return;
  close_ = status;
  OnClosing(status);
}

void Stream::Recheck(const OpenStreams::Renew& renew) {
  absl::StatusOr<Access> renewed = renew(access());
  if (!renewed.ok()) return End(renewed.status());
  const absl::MutexLock lock(&mutex_);
  access_ = *std::move(renewed);
  // The stream was opened before there was a quota.
  ClientQuota* const quota = access_.quota();
  if (quota == nullptr || slot_.is_taken() || end_.has_value()) return;
  quota->CountStream();
  slot_ = StreamSlot(quota);
}

void Stream::Cancelled() { End(absl::CancelledError("the client has gone")); }

void Stream::Done() {
  {
    const absl::MutexLock lock(&mutex_);
    slot_.Release();
    // The end of the client's messages may come before its cancel. A span
    // without an end counts as cancelled.
    const bool is_cancelled =
        span_ != nullptr && context_ != nullptr && context_->IsCancelled();
    if (span_ != nullptr && end_.has_value() && !is_cancelled) {
      span_->End(*end_);
    }
    span_.reset();
  }
  streams_.Remove(this);
}

// Pauses.

void Stream::Charge(int items, size_t bytes) {
  if (!is_checked_) return;
  ClientQuota* const quota = access().quota();
  if (quota == nullptr) return;
  quota->Charge(static_cast<uint64_t>(std::max(items, 1)), bytes);
}

bool Stream::MayRead() {
  if (read_ == Read::kPermitted) return true;
  ClientQuota* const quota = access_.quota();
  if (quota == nullptr || !IsPaced()) return true;
  pause_ = quota->BeginPause();
  const absl::Duration left = quota->Left(pause_);
  if (left == absl::ZeroDuration()) return true;
  read_ = Read::kPaused;
  WaitForQuota(left);
  return false;
}

void Stream::WaitForQuota(absl::Duration left) {
  // Nothing cancels the timer, so it looks again often enough to see the end of
  // the stream and a change of the quotas.
  timer_.Begin(std::min(left, absl::Seconds(1)),
               [self = shared_from_this()] { self->PauseOver(); });
}

void Stream::PauseOver() {
  {
    const absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    // Null: the client no longer has quotas.
    const ClientQuota* const quota = access_.quota();
    const absl::Duration left =
        quota == nullptr ? absl::ZeroDuration() : quota->Left(pause_);
    if (left != absl::ZeroDuration()) return WaitForQuota(left);
    read_ = Read::kPermitted;
  }
  Continue();
}

// Reading and writing.

void Stream::Continue() {
  bool writes = false;
  {
    const absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    if (!writing_) writes = writing_ = TakeOutput();
    if (close_.has_value()) {
      if (!writing_ && read_ != Read::kHandled && !ExpectsOutput()) {
        EndLocked(*close_);
      }
    } else if ((read_ == Read::kNone || read_ == Read::kPermitted) &&
               WantsMessage() && MayRead()) {
      read_ = Read::kUnderWay;
      StartReadInto(&in_bytes_);
    }
  }
  // The call is not finished, and so the stream is not destroyed, before the
  // write is done.
  if (!writes) return;
  absl::Status status = WriteOutput(&out_bytes_);
  // A sink holds one message, and has a limit of open calls.
  if (status.ok() && context_ != nullptr) {
    status = unread_->Count(*context_, &out_bytes_);
  }
  if (status.ok()) {
    StartWriteOf(&out_bytes_);
    return;
  }
  const absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (end_.has_value()) {
    FinishLocked();
  } else {
    EndLocked(status);
  }
}

void Stream::ReadDone(bool ok) {
  {
    const absl::MutexLock lock(&mutex_);
    read_ = Read::kNone;
    if (end_.has_value()) return;
    // The client has half-closed, or its connection broke.
    if (!ok) CloseLocked(absl::OkStatus());
    // A message that was read while the stream began to close is dropped: the
    // client cannot know whether the message came before the close or after it.
    if (ok && !close_.has_value()) read_ = Read::kHandled;
    ok = read_ == Read::kHandled;
  }
  if (ok) {
    OnMessage(in_bytes_);
  } else {
    Continue();
  }
}

void Stream::Handled(const absl::Status& status) {
  {
    const absl::MutexLock lock(&mutex_);
    read_ = Read::kNone;
    in_bytes_.Clear();
    if (!status.ok()) CloseLocked(status);
  }
  Continue();
}

void Stream::WriteDone(bool ok) {
  {
    const absl::MutexLock lock(&mutex_);
    // A sink that is abandoned does not know whether there is a write.
    if (!writing_) return;
    writing_ = false;
    out_bytes_.Clear();
    if (end_.has_value()) {
      FinishLocked();
      return;
    }
    if (!ok) {
      EndLocked(absl::CancelledError("the client has gone"));
      return;
    }
  }
  Continue();
}

}  // namespace actord::daemon
