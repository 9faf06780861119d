// Many calls at once, with a bounded number in flight.
//
// A producer loops over WaitForRoom and Submit, Send or Call; the answers
// arrive on gRPC's threads. Awaits have their own connection and window, so
// that long-running processes delay no submission.
//
// Thread-safety: every function may be called from any thread, and Submit,
// Send, Call and Await also from a Done.
// Ownership: shares the client's connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "client/calls/client.h"

namespace actord::client {

struct BulkOptions {
  // Submits and calls in flight, and also unanswered sends, at least 1.
  size_t window = 256;
  size_t await_window = 1000;  // awaits in flight, at least 1
  // Deadline of each attempt of a call, from the start of the attempt. Also of
  // a submit or send, if it is a call of its own. Over a stream, submits or
  // sends fail if no answer at all comes for this time, in practice for up to
  // twice as long.
  absl::Duration call_timeout = absl::Seconds(30);
  // Deadline of all calls.
  absl::Time deadline = absl::InfiniteFuture();
  // Retries of a submit, send or call that is refused with RESOURCE_EXHAUSTED
  // or JOURNAL_BEHIND.
  int max_retries = 12;
  // Messages to one PID arrive in their order, over a stream if the daemon is
  // new enough. False: each send is a call, and they run at the same time, so
  // their messages may arrive in any order.
  bool keep_order = true;
  // Submits go over a stream, in batches, unless the daemon refuses the stream.
  // False: each submit is a call.
  bool streams_submits = true;
};

class Bulk {
 public:
  // Called exactly once, on any thread. Must not block.
  template <typename Response>
  using Done = std::function<void(absl::StatusOr<Response>)>;

  Bulk(const Client& client, const BulkOptions& options);
  // Cancels the remaining calls and waits for them.
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // Submit, Send, Call and Await never block.
  // Submissions may start in any order. If the stream breaks, an unanswered one
  // fails with an error that IsUnanswered (error.h), and its process may or may
  // not have started; later ones are calls. Text that is not UTF-8 in one of
  // them ends the stream. See `streams_submits`.
  void Submit(v1::SubmitRequest request, Done<v1::SubmitResponse> done);
  // Messages to one PID arrive in the order of the calls. If one is refused for
  // good, the later ones are sent nevertheless. A message that is refused with
  // RESOURCE_EXHAUSTED or JOURNAL_BEHIND is retried before the later ones. One
  // exception: while another call or stream is sending the `message_id` of a
  // message, the later ones do not wait for it, and may arrive before it. If
  // the stream breaks, an unanswered message fails with an error that
  // IsUnanswered (error.h), and may or may not have arrived. See `keep_order`.
  void Send(v1::SendRequest request, Done<v1::SendResponse> done);
  // Calls run at the same time, also those to one PID.
  void Call(v1::CallRequest request, Done<v1::CallResponse> done);
  void Await(v1::AwaitRequest request, Done<v1::AwaitResponse> done);

  // Waits until the backlog of submits, sends and calls is short enough for
  // another.
  // False: `timeout` has passed.
  bool WaitForRoom(absl::Duration timeout);
  // Waits until every Done has returned. False: `timeout` has passed.
  bool WaitUntilIdle(absl::Duration timeout);
  // Cancels all calls, present and future: they end with CANCELLED.
  void CancelAll();

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
