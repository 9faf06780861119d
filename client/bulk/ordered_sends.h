// Sends messages with a bounded number unanswered, in order for each receiver,
// also when the daemon refuses some of them for a while. Part of Bulk.
//
// The messages go over one SendStream (stream.proto, seen_count). If the daemon
// is too old for that, or the stream has ended, `other_way` gets them in their
// order. It also gets each message that the stream cannot send: a message to a
// group, whose answer counts members, and a message too large for a stream.
//
// At any time a message is in exactly one of these states:
//   waiting  the stream is not open yet, or the window is full
//   sent     it is written, and not answered
//   held     it waits for its receiver. A receiver is held from the first
//            refusal that may pass, or from the first message for `other_way`,
//            until its sent messages are answered and the delay has passed.
//            Then its held messages are waiting again, in their order
//   away     `other_way` has it, and its receiver stays held until the answer
//   over     Done has returned, or `other_way` has it for good
//
// The reactor's callbacks, the alarms and the callers share one lock. No Done
// and no `other_way` runs under it.
//
// Thread-safety: every function may be called from any thread, and Send also
// from a Done. Ownership: shares the connection; owns the stream.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "actord/v1/process.pb.h"
#include "client/calls/endpoint.h"

namespace actord::client {

struct OrderedSendsOptions {
  size_t window = 256;  // unanswered messages, at least 1
  // The stream is broken off if the daemon answers nothing for this time. Only
  // one check is made in each such time, so it may take up to twice as long.
  absl::Duration patience = absl::Seconds(30);
  // Deadline of the stream.
  absl::Time deadline = absl::InfiniteFuture();
  // Retries of a message that is refused for a reason that may pass. The delay
  // doubles with each retry, up to max_retry_delay.
  int max_retries = 12;
  absl::Duration max_retry_delay = absl::Seconds(2);
};

class OrderedSends {
 public:
  using Done = std::function<void(absl::StatusOr<v1::SendResponse>)>;
  // Keeps the order of its calls for each receiver.
  using OtherWay = std::function<void(v1::SendRequest, Done)>;

  // `stub` must outlive this object.
  OrderedSends(const Endpoint& endpoint, v1::ActorService::Stub& stub,
               const OrderedSendsOptions& options, OtherWay other_way);
  // Breaks the stream off, unless all messages are over, and waits for its end.
  ~OrderedSends();
  OrderedSends(const OrderedSends&) = delete;
  OrderedSends& operator=(const OrderedSends&) = delete;

  // Never blocks. `done` is called exactly once, on any thread. If the stream
  // ends before the answer, the error says that no answer came.
  void Send(v1::SendRequest request, Done done);

  // As in CallWindow.
  bool WaitForRoom(absl::Duration timeout);
  bool WaitUntilIdle(absl::Duration timeout);
  // Ends the stream. The messages that are not sent, and all later ones, go to
  // `other_way`, which must refuse them.
  void CancelAll();

 private:
  class Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
