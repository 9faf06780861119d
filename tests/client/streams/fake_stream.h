// A stream of the fake daemon: one response for each request.
//
// Thread-safety: gRPC calls a stream from one thread at a time. Ownership: a
// stream owns itself and is destroyed when the call is over.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "actord/v1/stream.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::client {

// `error` as the refusal of an item of a stream.
inline v1::Refusal RefusalOf(const grpc::Status& error) {
  google::rpc::Status status;
  status.ParseFromString(error.error_details());
  v1::Refusal refusal;
  refusal.set_code(error.error_code());
  refusal.set_message(error.error_message());
  for (const auto& any : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    google::rpc::RetryInfo retry;
    if (any.UnpackTo(&info)) refusal.set_reason(info.reason());
    if (any.UnpackTo(&bad)) {
      refusal.set_field(bad.field_violations(0).field());
    }
    if (any.UnpackTo(&retry)) {
      *refusal.mutable_retry_delay() = retry.retry_delay();
    }
  }
  return refusal;
}

template <typename Request, typename Response>
class FakeStream final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  using Handle = std::function<void(const Request&, Response&)>;

  // The stream ends with `end` after `batches` requests, at least 1. Negative:
  // the stream ends after the client has half-closed it. Requests after the
  // first `answers` get no response; negative: each gets one.
  // `greeting`: the first response, which needs no request.
  FakeStream(Handle handle, int batches, int answers, grpc::Status end,
             std::optional<Response> greeting)
      : handle_(std::move(handle)),
        batches_(batches),
        answers_(answers),
        end_(std::move(end)),
        greets_(greeting.has_value()) {
    if (greets_) {
      response_ = *std::move(greeting);
      this->StartWrite(&response_);
    } else {
      this->StartRead(&request_);
    }
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status::OK);
    response_.Clear();
    handle_(request_, response_);
    if (answers_ == 0) return this->StartRead(&request_);
    --answers_;
    this->StartWrite(&response_);
  }
  void OnWriteDone(bool /*ok*/) override {
    if (!std::exchange(greets_, false) && --batches_ == 0) {
      return this->Finish(end_);
    }
    this->StartRead(&request_);
  }
  void OnDone() override { delete this; }

  const Handle handle_;
  int batches_;
  int answers_;
  const grpc::Status end_;
  bool greets_;
  Request request_;
  Response response_;
};

// A stream of responses to one request.
template <typename Response>
class FakeWriter final : public grpc::ServerWriteReactor<Response> {
 public:
  // The stream ends with `end` after the last response; nullopt: the stream
  // stays open until the client cancels it.
  FakeWriter(std::vector<Response> responses, std::optional<grpc::Status> end)
      : responses_(std::move(responses)), end_(std::move(end)) {
    const std::lock_guard lock(mutex_);
    Continue();
  }

 private:
  // The caller holds the lock. Finishes once, and not while a write is in
  // flight.
  void Continue() {
    if (writing_ || finished_) return;
    if (!cancelled_ && next_ < responses_.size()) {
      writing_ = true;
      this->StartWrite(&responses_[next_++]);
    } else if (cancelled_ || end_) {
      finished_ = true;
      this->Finish(cancelled_ ? grpc::Status::CANCELLED : *end_);
    }
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) cancelled_ = true;
    Continue();
  }
  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    Continue();
  }
  void OnDone() override { delete this; }

  const std::vector<Response> responses_;
  const std::optional<grpc::Status> end_;
  std::mutex mutex_;
  size_t next_ = 0;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

}  // namespace actord::client
