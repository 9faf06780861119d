// Many calls at once, with a bounded number in flight.
//
// A producer loops over WaitForRoom and Submit or Send; the answers arrive on
// threads of gRPC. Awaits have a connection and a window of their own, so that
// processes which take long hold up no submission.
//
// Thread-safety: every function may be called from any thread, and Submit,
// Send and Await also from a Done.
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
  size_t window = 256;         // submits and sends in flight, at least 1
  size_t await_window = 1000;  // awaits in flight, at least 1
  // Of each attempt of a submit or send, from the moment it starts.
  absl::Duration call_timeout = absl::Seconds(30);
  // Of everything.
  absl::Time deadline = absl::InfiniteFuture();
  // Further attempts of a submit or send that is refused for want of room.
  int max_retries = 12;
};

class Bulk {
 public:
  // Called exactly once, on any thread. Must not block.
  template <typename Response>
  using Done = std::function<void(absl::StatusOr<Response>)>;

  Bulk(const Client& client, const BulkOptions& options);
  // Cancels what is left and waits for it.
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // None of these blocks.
  void Submit(v1::SubmitRequest request, Done<v1::SubmitResponse> done);
  // Sends to one PID are made one after the other, in the order of the calls,
  // whatever became of those before.
  void Send(v1::SendRequest request, Done<v1::SendResponse> done);
  void Await(v1::AwaitRequest request, Done<v1::AwaitResponse> done);

  // Waits until so few submits and sends are pending that the next one will
  // not just be queued. False: not within `timeout`.
  bool WaitForRoom(absl::Duration timeout);
  // Waits until every Done has returned. False: not within `timeout`.
  bool WaitUntilIdle(absl::Duration timeout);
  // Ends everything, now and from now on, with CANCELLED.
  void CancelAll();

 private:
  struct Core;
  const std::unique_ptr<Core> core_;
};

}  // namespace actord::client
