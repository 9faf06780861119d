// A call that delivers responses for days and is made again whenever it breaks:
// the call of a watch or of a subscription. Not for users of the library.
//
// Thread-safety: Run may be called once; the functions it is given run on its
// thread. Ownership: owns its connection.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "client/calls/cancellation.h"
#include "client/calls/connection.h"
#include "client/calls/endpoint.h"

namespace actord::client {

struct LastingCallOptions {
  // The thing that has ended if the daemon ends the call without an error.
  std::string name;
  // First delay between attempts; it doubles up to `max_reconnect_delay`. A
  // call that was answered starts again with the first delay.
  absl::Duration reconnect_delay;
  absl::Duration max_reconnect_delay;
  // There is no connection; the next attempt follows after `delay`. May be
  // empty.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_broken;
};

class LastingCall {
 public:
  // Run connects.
  LastingCall(const Endpoint& endpoint, LastingCallOptions options);

  // Makes the call with `open(stub, &context)`, and passes each response to
  // `deliver(response, is_first)`; `is_first`: of one call. If `deliver`
  // returns false, the call ends, and is made again unless `stop` is cancelled.
  // Returns OK when `stop` is cancelled; otherwise the error that makes another
  // attempt useless.
  template <typename Response, typename Open, typename Deliver>
  absl::Status Run(Cancellation& stop, Open open, Deliver deliver) {
    return Repeat(stop, [&](bool& answered) {
      grpc::ClientContext context;
      AddToken(endpoint_, context);
      const Cancellation::Registration registration(
          &stop, [&context] { context.TryCancel(); });
      const auto stream = open(*stub_, &context);
      Response response;
      while (stream->Read(&response)) {
        const bool is_first = !std::exchange(answered, true);
        if (!deliver(response, is_first)) context.TryCancel();
      }
      return stream->Finish();
    });
  }

 private:
  // `attempt` makes one call, and sets `answered` if the daemon answered.
  absl::Status Repeat(Cancellation& stop,
                      absl::FunctionRef<grpc::Status(bool& answered)> attempt);

  const Endpoint endpoint_;
  const LastingCallOptions options_;
  const std::unique_ptr<v1::ActorService::Stub> stub_;
};

}  // namespace actord::client
