// The load of rpc-unary: a fixed number of unary calls in flight on one
// connection. Each call that ends starts the next. The code is the same for
// every server.
//
// Thread-safety: one thread.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace actord::bench {

template <typename Response>
class ClosedLoop {
 public:
  using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;
  // Starts one call.
  using Start =
      std::function<Reader(grpc::ClientContext*, grpc::CompletionQueue*)>;

  // `waits_us`, unless null, gets how long each call took; it is borrowed.
  explicit ClosedLoop(Start start, std::vector<double>* waits_us = nullptr)
      : start_(std::move(start)), waits_us_(waits_us) {}
  ~ClosedLoop() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  ClosedLoop(const ClosedLoop&) = delete;
  ClosedLoop& operator=(const ClosedLoop&) = delete;

  // Runs for `seconds` and returns the number of calls that ended in each
  // second. Fails if a call fails.
  double CallsPerSecond(int in_flight, double seconds) {
    const Stopwatch stopwatch;
    for (int i = 0; i < in_flight; ++i) StartCall();
    uint64_t ended = 0;
    for (int left = in_flight; left > 0;) {
      EndCall();
      ++ended;
      if (stopwatch.Seconds() < seconds) {
        StartCall();
      } else {
        --left;
      }
    }
    calls_ += ended;
    return static_cast<double>(ended) / stopwatch.Seconds();
  }

  // Number of calls that have ended, all of them successfully.
  [[nodiscard]] uint64_t calls() const { return calls_; }

 private:
  struct Call {
    grpc::ClientContext context;
    Response response;
    grpc::Status status;
    Reader reader;
    Stopwatch since;
  };

  void StartCall() {
    auto call = std::make_unique<Call>();
    call->reader = start_(&call->context, &queue_);
    // Ownership returns in EndCall.
    Call* tag = call.release();
    tag->reader->Finish(&tag->response, &tag->status, tag);
  }

  void EndCall() {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok)) Fail("the client's queue has ended");
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    if (!call->status.ok()) {
      Fail("a call failed: " + call->status.error_message());
    }
    if (waits_us_ != nullptr) {
      waits_us_->push_back(call->since.Seconds() * 1e6);
    }
  }

  const Start start_;
  std::vector<double>* const waits_us_;
  grpc::CompletionQueue queue_;
  uint64_t calls_ = 0;
};

}  // namespace actord::bench
