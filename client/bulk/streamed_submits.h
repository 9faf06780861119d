// Carries submissions over one SubmitStream (stream.proto), in batches. Part of
// Bulk, whose CallWindow bounds their number and submits the refused ones
// again.
//
// At any time a submission is in exactly one of these states:
//   waiting  the stream is not open yet, or writes another batch
//   sent     it is written, and not answered
//   over     `done` or `alone` has been called
//
// The stream is open when the daemon has greeted. A submission goes alone, as a
// call, if it is too large for a stream, or if the stream has ended before the
// submission was written, for example because the daemon refuses streams.
//
// Thread-safety: every function except the destructor may be called from any
// thread, and Start also from `done` and `alone`.
// Ownership: borrows its arguments; owns the stream.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "actord/v1/process.pb.h"
#include "client/calls/endpoint.h"

namespace actord::client {

struct StreamedSubmitsOptions {
  // The stream is broken off if the daemon answers nothing for this time. Only
  // one check is made in each such time, so it may take up to twice as long.
  absl::Duration patience = absl::Seconds(30);
  // Deadline of the stream.
  absl::Time deadline = absl::InfiniteFuture();
};

class StreamedSubmits {
 public:
  using Done = std::function<void(absl::StatusOr<v1::SubmitResponse>)>;
  using Alone = std::function<void()>;

  StreamedSubmits(const Endpoint& endpoint, v1::ActorService::Stub& stub,
                  const StreamedSubmitsOptions& options);
  // Every submission has to be over.
  ~StreamedSubmits();
  StreamedSubmits(const StreamedSubmits&) = delete;
  StreamedSubmits& operator=(const StreamedSubmits&) = delete;

  // Never blocks. Calls `done` with the answer, or `alone` if the submission
  // was not sent and has to go alone: one of them, once, on any thread, perhaps
  // before it returns. `request` must live until then. If the stream ends
  // before the answer, the error says that no answer came.
  void Start(const v1::SubmitRequest& request, Done done, Alone alone);
  // Ends the stream. Submissions that wait end with CANCELLED, and later ones
  // go alone.
  void Cancel();

 private:
  class Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
