// Submits processes in bulk over one stream and batches the submissions by
// itself.
//
// A submission is done when it was refused, or when its process has started
// and, if outcomes are awaited, has ended. If the stream breaks, the started
// processes continue. To be able to submit the rest again, set request_id from
// the beginning.
//
// Thread-safety: every function except the destructor may be called from any
// thread. Ownership: shares the client's connection; owns its call.
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
  // Maximum number of submissions that are not done; Submit waits at the limit.
  // 0 is taken as 1. The daemon reads at most 10,000 ahead.
  size_t window = 10'000;
  bool await_outcomes = true;
  // Called with the news of a submission; FromRefusal of error.h makes a status
  // of a refusal. Runs on gRPC's threads, one call at a time; must neither
  // block nor use the stream. May be empty.
  std::function<void(const v1::SubmissionNews& news)> on_news = {};
};

class SubmitStream {
 public:
  explicit SubmitStream(const Client& client, SubmitStreamOptions options = {});
  // Cancels the stream if it was not finished.
  ~SubmitStream();
  SubmitStream(const SubmitStream&) = delete;
  SubmitStream& operator=(const SubmitStream&) = delete;

  // Returns the index of the submission, counted from 0. Waits while the window
  // is full. Error: the stream has ended and nothing was submitted.
  absl::StatusOr<uint64_t> Submit(v1::SubmitRequest request);
  // Waits until everything that was submitted before is done, even if other
  // threads submit meanwhile. Returns the stream's error if it ended earlier.
  absl::Status Flush();
  // Ends the submitting and waits for the end of the stream. OK: every
  // submission is done.
  absl::Status Finish();
  // Ends the stream with CANCELLED.
  void Cancel();

  // Number of submissions that are done.
  [[nodiscard]] uint64_t through() const;

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
