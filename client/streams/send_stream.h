// Messages in bulk over one stream, gathered into batches by itself.
//
// A message is through when the daemon has acknowledged it: it is in the
// mailbox of its process, or was refused. Messages to one process arrive in the
// order of Send. When the stream breaks, what is not through is in its mailbox
// or is not; whoever sends it again gives it a message_id from the beginning.
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
#include "client/calls/client.h"

namespace actord::client {

struct SendStreamOptions {
  // Messages that are not through; Send waits while there are as many. 0 is
  // taken as 1.
  size_t window = 10'000;
  // Message `index` was refused; error.h decodes why. RESOURCE_EXHAUSTED:
  // MAILBOX_FULL, worth another Send after the retry delay. Called on gRPC's
  // threads, one call at a time; must neither block nor use the stream. Empty:
  // refusals are only counted.
  std::function<void(uint64_t index, const absl::Status& why)> on_refused = {};
};

class SendStream {
 public:
  explicit SendStream(const Client& client, SendStreamOptions options = {});
  // Cancels it if it was not finished.
  ~SendStream();
  SendStream(const SendStream&) = delete;
  SendStream& operator=(const SendStream&) = delete;

  // Returns the index of the message: 0 is the first of the stream. Waits while
  // the window is full. An error if the stream has ended; the message was not
  // sent then.
  absl::StatusOr<uint64_t> Send(v1::SendRequest request);
  // Waits until everything that was sent before is through, whatever other
  // threads send meanwhile. The error of the stream if it ended before that.
  absl::Status Flush();
  // Says that this was all, and waits for the end. OK: everything is through.
  absl::Status Finish();
  // Ends the stream with CANCELLED.
  void Cancel();

  // So many messages, counted from the first, are through.
  [[nodiscard]] uint64_t acked() const;
  // So many of them were refused.
  [[nodiscard]] uint64_t refused() const;

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
