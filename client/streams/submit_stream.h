// Submissions in bulk over one stream, gathered into batches by itself.
//
// A submission is through when it was refused, or started and, if outcomes are
// awaited, has ended. When the stream breaks, what was started goes on; whoever
// submits the rest again gives it a request_id from the beginning.
//
// Thread-safety: every function may be called from any thread, but for the
// destructor. Ownership: shares the client's connection; owns its call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/stream.pb.h"
#include "client/calls/client.h"

namespace actord::client {

struct SubmitStreamOptions {
  // Submissions that are not through; Submit waits while there are as many. 0
  // is taken as 1. The daemon reads no further than 10,000.
  size_t window = 10'000;
  bool await_outcomes = true;
  // What has become of a submission, as `SubmissionNews` tells; FromRefusal of
  // error.h makes a status of a refusal. Called on gRPC's threads, one call at
  // a time; must neither block nor use the stream. May be empty.
  std::function<void(const v1::SubmissionNews& news)> on_news = {};
};

class SubmitStream {
 public:
  explicit SubmitStream(const Client& client, SubmitStreamOptions options = {});
  // Cancels it if it was not finished.
  ~SubmitStream();
  SubmitStream(const SubmitStream&) = delete;
  SubmitStream& operator=(const SubmitStream&) = delete;

  // Returns the index of the submission: 0 is the first of the stream. Waits
  // while the window is full. An error if the stream has ended; nothing was
  // submitted then.
  absl::StatusOr<uint64_t> Submit(v1::SubmitRequest request);
  // Waits until everything that was submitted before is through, whatever other
  // threads submit meanwhile. The error of the stream if it ended before that.
  absl::Status Flush();
  // Says that this was all, and waits for the end. OK: everything is through.
  absl::Status Finish();
  // Ends the stream with CANCELLED.
  void Cancel();

  // So many submissions are through.
  [[nodiscard]] uint64_t through() const;

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
