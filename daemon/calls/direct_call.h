// Calls that do not come through gRPC: the answers and the waits of unary ones,
// and streams of responses.
//
// Thread-safety: any thread.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "daemon/access/access.h"
#include "daemon/access/call_source.h"
#include "daemon/calls/wait_end.h"
#include "daemon/streams/stream.h"
#include "daemon/streams/stream_sink.h"

namespace actord::daemon {

// A wait that its client may stop.
class DirectWait {
 public:
  virtual ~DirectWait() = default;
  // Returns true if the call has not been finished by the wait, and will not
  // be. At most once.
  virtual bool TakeBack() = 0;
};

// The parts of a beginning call that the gate and the handlers use.
class DirectRequest {
 public:
  virtual ~DirectRequest() = default;

  [[nodiscard]] virtual const HttpSource& source() const = 0;
  [[nodiscard]] virtual size_t request_bytes() const = 0;
  // Reads the request. Called once, on the thread that has begun the call.
  // INVALID_ARGUMENT: the request is malformed.
  virtual absl::Status ReadRequest(google::protobuf::Message* request) = 0;
};

// The receiver of a unary call's answer.
class CallEnd {
 public:
  virtual ~CallEnd() = default;
  // Ends the call with `status`, and with `response` if `status` is OK; null
  // otherwise. To be called exactly once, unless the wait of the call is taken
  // back. Afterwards the object may be gone.
  virtual void Finish(const absl::Status& status,
                      const google::protobuf::Message* response) = 0;
};

// One unary call. It lives until Finish, or until its wait was taken back.
class DirectCall : public DirectRequest, public CallEnd {
 public:
  // Hands over the wait of the call, on the thread that has begun the call,
  // perhaps after Finish. At most once.
  virtual void SetWait(std::shared_ptr<DirectWait> wait) = 0;

  void Refuse(const absl::Status& status) { Finish(status, nullptr); }
};

// One call with a stream of responses. It lives until it has called
// WriteStream::SinkDone, or until it is refused.
class DirectStream : public DirectRequest, public StreamSink {
 public:
  // Called before the first Write, on the thread that has begun the call.
  virtual void Opened(std::shared_ptr<WriteStream> stream) = 0;
  // There is no stream. Called in place of Opened.
  virtual void Refuse(const absl::Status& status) = 0;
};

// The counterpart of WaitingCall (unary_answer.h).
template <typename Wait>
class DirectWaitingCall final
    : public DirectWait,
      public WaitEnd<typename Wait::Response>,
      public std::enable_shared_from_this<DirectWaitingCall<Wait>> {
 public:
  using Response = typename Wait::Response;

  static void Begin(Wait wait, const Access& access, DirectCall& call) {
    auto waiting = std::shared_ptr<DirectWaitingCall>(
        new DirectWaitingCall(std::move(wait), access, call));
    waiting->self_ = waiting;
    // First, because the call may be gone after Start.
    call.SetWait(waiting);
    waiting->wait_.Start(waiting.get());
  }

  bool TakeBack() override {
    if (!wait_.TakeBack()) return false;
    self_.reset();
    return true;
  }

  void Finish(const absl::Status& status, const Response& response) override {
    const std::shared_ptr<DirectWaitingCall> self = std::move(self_);
    const absl::Status allowed = access_.CheckAgain();
    const absl::Status& result = allowed.ok() ? status : allowed;
    call_.Finish(result, result.ok() ? &response : nullptr);
  }

 private:
  DirectWaitingCall(Wait wait, const Access& access, DirectCall& call)
      : wait_(std::move(wait)), access_(access), call_(call) {}

  Wait wait_;
  const Access access_;
  DirectCall& call_;
  // Until the end of the wait.
  std::shared_ptr<DirectWaitingCall> self_;
};

}  // namespace actord::daemon
