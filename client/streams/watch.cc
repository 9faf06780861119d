#include "client/streams/watch.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "client/calls/connection.h"
#include "client/calls/error.h"
#include "client/streams/lasting_channel.h"

namespace actord::client {
namespace {

template <typename... Parameters, typename... Arguments>
void Call(const std::function<void(Parameters...)>& function,
          const Arguments&... arguments) {
  if (function) function(arguments...);
}

}  // namespace

class ProcessWatch::Watch {
 public:
  Watch(const Endpoint& endpoint, ProcessWatchOptions options)
      : endpoint_(endpoint),
        options_(std::move(options)),
        stub_(v1::ActorService::NewStub(OpenLastingChannel(
            endpoint, options_.reconnect_delay, options_.max_reconnect_delay))),
        resume_token_(options_.resume_token) {}

  absl::Status Run(Cancellation& stop);
  [[nodiscard]] const std::string& resume_token() const {
    return resume_token_;
  }

 private:
  // Runs one call to its end. Sets `served` if the daemon answered.
  grpc::Status Listen(Cancellation& stop, bool& served);
  // False: the watch was cancelled before the response was reported completely.
  bool Tell(const v1::WatchProcessesResponse& response,
            const Cancellation& stop) const;
  bool TellSnapshot(const v1::ProcessSnapshot& snapshot,
                    const Cancellation& stop) const;
  bool TellEvents(const v1::ProcessEvents& events,
                  const Cancellation& stop) const;

  const Endpoint endpoint_;
  const ProcessWatchOptions options_;
  const std::unique_ptr<v1::ActorService::Stub> stub_;
  std::string resume_token_;
};

bool ProcessWatch::Watch::TellSnapshot(const v1::ProcessSnapshot& snapshot,
                                       const Cancellation& stop) const {
  if (snapshot.first()) Call(options_.on_snapshot);
  for (const v1::Process& process : snapshot.processes()) {
    if (stop.cancelled()) return false;
    Call(options_.on_process, process);
  }
  if (stop.cancelled()) return false;
  if (snapshot.last()) Call(options_.on_snapshot_end);
  return true;
}

bool ProcessWatch::Watch::TellEvents(const v1::ProcessEvents& events,
                                     const Cancellation& stop) const {
  int told = 0;
  for (const v1::ProcessEvent& event : events.events()) {
    if (stop.cancelled()) break;
    switch (event.event_case()) {
      case v1::ProcessEvent::kStarted:
        Call(options_.on_started, event.started());
        break;
      case v1::ProcessEvent::kEnded:
        Call(options_.on_ended, event.ended());
        break;
      case v1::ProcessEvent::EVENT_NOT_SET:
        break;  // An event of a later version of the API.
    }
    ++told;
  }
  return told == events.events_size();
}

bool ProcessWatch::Watch::Tell(const v1::WatchProcessesResponse& response,
                               const Cancellation& stop) const {
  if (stop.cancelled()) return false;
  switch (response.update_case()) {
    case v1::WatchProcessesResponse::kSnapshot:
      return TellSnapshot(response.snapshot(), stop);
    case v1::WatchProcessesResponse::kEvents:
      return TellEvents(response.events(), stop);
    case v1::WatchProcessesResponse::kMissed:
      Call(options_.on_missed, response.missed().count());
      return true;
    case v1::WatchProcessesResponse::UPDATE_NOT_SET:
      break;
  }
  return true;
}

grpc::Status ProcessWatch::Watch::Listen(Cancellation& stop, bool& served) {
  v1::WatchProcessesRequest request;
  request.set_process_type(options_.process_type);
  request.set_parent_pid(options_.parent_pid);
  for (const std::string& label : options_.labels) request.add_labels(label);
  request.set_resume_token(resume_token_);
  request.set_skip_snapshot(options_.skip_snapshot);
  grpc::ClientContext context;
  AddToken(endpoint_, context);
  const Cancellation::Registration registration(
      &stop, [&context] { context.TryCancel(); });
  const auto stream = stub_->WatchProcesses(&context, request);
  v1::WatchProcessesResponse response;
  while (stream->Read(&response)) {
    if (!std::exchange(served, true)) Call(options_.on_connected);
    const bool whole = Tell(response, stop);
    Call(options_.on_told);
    if (whole) {
      resume_token_ = response.resume_token();
    } else {
      context.TryCancel();
    }
  }
  return stream->Finish();
}

absl::Status ProcessWatch::Watch::Run(Cancellation& stop) {
  absl::Status usable = CheckEndpoint(endpoint_);
  if (!usable.ok()) return usable;
  absl::Duration delay = options_.reconnect_delay;
  while (!stop.cancelled()) {
    bool served = false;
    const grpc::Status status = Listen(stop, served);
    if (stop.cancelled()) break;
    if (!status.ok() && !IsWorthAnotherTry(status)) return FromGrpc(status);
    if (served) delay = options_.reconnect_delay;
    const absl::Status why =
        status.ok() ? absl::UnavailableError("the daemon has ended the watch")
                    : FromGrpc(status);
    // A retry sooner than the daemon asks for is useless.
    const absl::Duration pause =
        std::max(delay, DetailsOf(why).retry_delay.value_or(delay));
    if (options_.on_broken) options_.on_broken(why, pause);
    Pause(pause, stop);
    delay = std::min(2 * delay, options_.max_reconnect_delay);
  }
  return absl::OkStatus();
}

ProcessWatch::ProcessWatch(const Endpoint& endpoint,
                           ProcessWatchOptions options)
    : watch_(std::make_unique<Watch>(endpoint, std::move(options))) {}
ProcessWatch::~ProcessWatch() = default;

absl::Status ProcessWatch::Run(Cancellation& stop) { return watch_->Run(stop); }

const std::string& ProcessWatch::resume_token() const {
  return watch_->resume_token();
}

}  // namespace actord::client
