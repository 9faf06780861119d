// Sends messages in bulk over one stream and batches them by itself.
//
// A message is done when the daemon has acknowledged it: it is in the mailbox
// of its process, or it was refused. Messages to one process arrive in the
// order of Send. If the stream breaks, a message that is not done may or may
// not be in its mailbox. To be able to send such messages again, set message_id
// from the beginning.
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
#include "client/calls/client.h"

namespace actord::client {

struct SendStreamOptions {
  // Maximum number of messages that are not done; Send waits at the limit. 0 is
  // taken as 1.
  size_t window = 10'000;
  // Called when message `index` was refused; error.h decodes the reason. On
  // RESOURCE_EXHAUSTED with MAILBOX_FULL, send the message again after the
  // retry delay. Runs on gRPC's threads, one call at a time; must neither block
  // nor use the stream. Empty: refusals are only counted.
  std::function<void(uint64_t index, const absl::Status& why)> on_refused = {};
};

class SendStream {
 public:
  explicit SendStream(const Client& client, SendStreamOptions options = {});
  // Cancels the stream if it was not finished.
  ~SendStream();
  SendStream(const SendStream&) = delete;
  SendStream& operator=(const SendStream&) = delete;

  // Returns the index of the message, counted from 0. Waits while the window is
  // full. Error: the stream has ended and the message was not sent.
  absl::StatusOr<uint64_t> Send(v1::SendRequest request);
  // Waits until every message that was sent before is done, even if other
  // threads send meanwhile. Returns the stream's error if it ended earlier.
  absl::Status Flush();
  // Ends the sending and waits for the end of the stream. OK: every message is
  // done.
  absl::Status Finish();
  // Ends the stream with CANCELLED.
  void Cancel();

  // Number of messages that are done, counted from the first.
  [[nodiscard]] uint64_t acked() const;
  // Number of refused messages.
  [[nodiscard]] uint64_t refused() const;

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
