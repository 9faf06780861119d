#include "client/streams/watch.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "client/calls/older_daemon.h"
#include "client/streams/lasting_call.h"

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
      : options_(std::move(options)),
        call_(endpoint, {.name = "the watch",
                         .reconnect_delay = options_.reconnect_delay,
                         .max_reconnect_delay = options_.max_reconnect_delay,
                         .on_broken = options_.on_broken}),
        resume_token_(options_.resume_token) {}

  absl::Status Run(Cancellation& stop);
  [[nodiscard]] const std::string& resume_token() const {
    return resume_token_;
  }

 private:
  // False: the watch was cancelled before the response was reported completely.
  bool Tell(const v1::WatchProcessesResponse& response,
            const Cancellation& stop) const;
  bool TellSnapshot(const v1::ProcessSnapshot& snapshot,
                    const Cancellation& stop) const;
  bool TellEvents(const v1::ProcessEvents& events,
                  const Cancellation& stop) const;

  const ProcessWatchOptions options_;
  LastingCall call_;
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

absl::Status ProcessWatch::Watch::Run(Cancellation& stop) {
  v1::WatchProcessesRequest request;
  request.set_process_type(options_.process_type);
  request.set_parent_pid(options_.parent_pid);
  for (const std::string& label : options_.labels) request.add_labels(label);
  request.set_skip_snapshot(options_.skip_snapshot);
  absl::Status selected;
  absl::Status status = call_.Run<v1::WatchProcessesResponse>(
      stop,
      [&](v1::ActorService::Stub& stub, grpc::ClientContext* context) {
        request.set_resume_token(resume_token_);
        return stub.WatchProcesses(context, request);
      },
      [&](const v1::WatchProcessesResponse& response, bool is_first) {
        selected = CheckWatched(request, response);
        if (!selected.ok()) {
          stop.Cancel();  // Another attempt is useless.
          return false;
        }
        if (is_first) Call(options_.on_connected);
        if (!response.parent_pid().empty()) {
          request.set_parent_pid(response.parent_pid());
          Call(options_.on_parent, response.parent_pid());
        }
        const bool whole = Tell(response, stop);
        Call(options_.on_told);
        if (whole) resume_token_ = response.resume_token();
        return whole;
      });
  return selected.ok() ? status : selected;
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
