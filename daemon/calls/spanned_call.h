// A unary call that does not come through gRPC, with a span that ends with it.
//
// Thread-safety: as DirectCall. Ownership: borrows the call. Owns itself until
// Finish, or until the wait of the call was taken back.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "daemon/access/call_source.h"
#include "daemon/calls/direct_call.h"
#include "daemon/spans/spans.h"

namespace actord::daemon {

class SpannedCall final : public DirectCall,
                          public std::enable_shared_from_this<SpannedCall> {
 public:
  // The caller keeps a pointer until the handler of the method has returned,
  // because the call may finish before it has a wait.
  static std::shared_ptr<SpannedCall> Begin(DirectCall& call,
                                            std::unique_ptr<CallSpan> span) {
    std::shared_ptr<SpannedCall> spanned(
        new SpannedCall(call, std::move(span)));
    spanned->self_ = spanned;
    return spanned;
  }

  [[nodiscard]] const HttpSource& source() const override {
    return call_.source();
  }
  [[nodiscard]] size_t request_bytes() const override {
    return call_.request_bytes();
  }
  absl::Status ReadRequest(google::protobuf::Message* request) override {
    return call_.ReadRequest(request);
  }
  void Finish(const absl::Status& status,
              const google::protobuf::Message* response) override {
    const std::shared_ptr<SpannedCall> self = std::move(self_);
    span_->End(status);
    call_.Finish(status, response);
  }
  void SetWait(std::shared_ptr<DirectWait> wait) override {
    call_.SetWait(
        std::make_shared<SpannedWait>(shared_from_this(), std::move(wait)));
  }

 private:
  class SpannedWait final : public DirectWait {
   public:
    SpannedWait(std::shared_ptr<SpannedCall> call,
                std::shared_ptr<DirectWait> wait)
        : call_(std::move(call)), wait_(std::move(wait)) {}
    bool TakeBack() override {
      if (!wait_->TakeBack()) return false;
      // The span ends as cancelled.
      call_->self_.reset();
      return true;
    }

   private:
    const std::shared_ptr<SpannedCall> call_;
    const std::shared_ptr<DirectWait> wait_;
  };

  SpannedCall(DirectCall& call, std::unique_ptr<CallSpan> span)
      : call_(call), span_(std::move(span)) {}

  DirectCall& call_;
  const std::unique_ptr<CallSpan> span_;
  std::shared_ptr<SpannedCall> self_;
};

}  // namespace actord::daemon
