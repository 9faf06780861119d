#include "client/bench/requests.h"

#include <algorithm>
#include <utility>

#include "client/calls/error.h"
#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client::bench {
namespace {

// Maximum number of process types that an error names.
constexpr int kNamedTypes = 20;

// The process does not live, so there is nothing to end.
bool HasEnded(const absl::Status& status) {
  return status.code() == absl::StatusCode::kNotFound ||
         status.code() == absl::StatusCode::kFailedPrecondition;
}

// The error of an unknown type, with the types that there are.
absl::Status WithTypes(Invocation& invocation, const absl::Status& error) {
  if (DetailsOf(error).reason != "UNKNOWN_PROCESS_TYPE") return error;
  std::string types;
  const auto status = invocation.client().GetStatus({}, invocation.Quick());
  if (status.ok()) {
    int named = 0;
    for (const auto& type : status->process_types()) {
      if (++named > kNamedTypes) break;
      types += (types.empty() ? "" : ", ") + OneLine(type.name());
    }
  }
  return absl::NotFoundError(
      std::string(error.message()) +
      ". --type names another: for \"submit\" a type whose processes end by "
      "themselves, for \"call\" and \"send\" a type whose processes wait for "
      "messages of --topic" +
      (types.empty() ? "" : ". The daemon has " + types));
}

}  // namespace

Requests::Requests(Invocation& invocation, const RequestOptions& options)
    : invocation_(invocation), options_(options) {
  for (size_t i = 0; i < options_.connections; ++i) {
    clients_.push_back(
        std::make_unique<Client>(invocation.options().endpoint()));
    bulks_.push_back(std::make_unique<Bulk>(
        *clients_.back(), BulkOptions{.window = options_.in_flight,
                                      .await_window = options_.in_flight,
                                      .call_timeout = kDefaultCallTimeout,
                                      .deadline = invocation.deadline(),
                                      .max_retries = 0,
                                      .keep_order = false,
                                      .streams_submits = false}));
  }
}

Requests::~Requests() { CancelAll(); }

void Requests::CancelAll() {
  for (const auto& bulk : bulks_) bulk->CancelAll();
  for (const auto& bulk : bulks_) {
    bulk->WaitUntilIdle(absl::InfiniteDuration());
  }
}

absl::Status Requests::Open() {
  // The first call of a connection takes longer.
  for (const auto& client : clients_) {
    const auto health = client->CheckHealth({}, invocation_.Quick());
    if (!health.ok()) return health.status();
  }
  const bool is_submit = options_.mode == Mode::kSubmit;
  const size_t processes = is_submit ? 1 : options_.processes;
  for (size_t i = 0; i < processes; ++i) {
    absl::Status status = StartProcess(*clients_[i % clients_.size()]);
    if (!status.ok()) return WithTypes(invocation_, status);
  }
  return absl::OkStatus();
}

absl::Status Requests::StartProcess(Client& client) {
  const auto started = client.Submit(options_.start, invocation_.Quick());
  if (!started.ok()) return started.status();
  pids_.push_back(started->pid());
  Note(*started);
  return absl::OkStatus();
}

void Requests::Note(const v1::SubmitResponse& started) {
  const MutexLock lock(mutex_);
  live_.insert(started.pid());
  is_durable_ = started.durability() == v1::DURABILITY_DURABLE;
}

bool Requests::is_durable() const {
  const MutexLock lock(mutex_);
  return is_durable_;
}

void Requests::Begin(uint64_t index, Load::Finished finished) {
  Bulk& bulk = *bulks_[index % bulks_.size()];
  if (options_.mode == Mode::kSubmit) {
    return BeginSubmit(bulk, std::move(finished));
  }
  const std::string& pid = pids_[index % pids_.size()];
  const auto end = [finished = std::move(finished)](const auto& response) {
    finished({.status = response.status()});
  };
  if (options_.mode == Mode::kCall) {
    v1::CallRequest request;
    request.set_pid(pid);
    request.set_topic(options_.topic);
    *request.mutable_payload() = options_.payload;
    bulk.Call(std::move(request), end);
  } else {
    v1::SendRequest request;
    request.set_pid(pid);
    request.set_topic(options_.topic);
    *request.mutable_payload() = options_.payload;
    bulk.Send(std::move(request), end);
  }
}

void Requests::BeginSubmit(Bulk& bulk, Load::Finished finished) {
  bulk.Submit(options_.start,
              [this, &bulk, finished = std::move(finished)](
                  const absl::StatusOr<v1::SubmitResponse>& started) {
                if (!started.ok()) {
                  finished({.status = started.status()});
                  return;
                }
                Note(*started);
                AwaitEnd(bulk, started->pid(), finished);
              });
}

void Requests::AwaitEnd(Bulk& bulk, const std::string& pid,
                        Load::Finished finished) {
  v1::AwaitRequest request;
  request.set_pid(pid);
  bulk.Await(std::move(request),
             [this, pid, finished = std::move(finished)](
                 const absl::StatusOr<v1::AwaitResponse>& awaited) {
               bool is_cancelling = false;
               {
                 const MutexLock lock(mutex_);
                 is_cancelling = is_cancelling_;
                 if (awaited.ok() || HasEnded(awaited.status())) {
                   live_.erase(pid);
                 }
               }
               if (is_cancelling) {
                 // A type that handles cancels may end with a result.
                 finished({.status = absl::CancelledError(),
                           .reason = EnumName(v1::FAILURE_REASON_CANCELLED)});
               } else if (!awaited.ok()) {
                 finished({.status = awaited.status()});
               } else if (awaited->outcome().has_failure()) {
                 const v1::Failure& failure = awaited->outcome().failure();
                 finished({.status = absl::AbortedError(failure.message()),
                           .reason = EnumName(failure.reason())});
               } else {
                 finished({.status = absl::OkStatus()});
               }
             });
}

std::vector<std::string> Requests::Live() const {
  const MutexLock lock(mutex_);
  return {live_.begin(), live_.end()};
}

absl::Status Requests::CancelProcesses(absl::Duration deadline) {
  {
    const MutexLock lock(mutex_);
    is_cancelling_ = true;
  }
  const absl::Time until = absl::Now() + kDefaultCallTimeout;
  v1::CancelRequest request;
  request.set_reason("the benchmark is over");
  *request.mutable_deadline() = FromDuration(deadline);
  for (const std::string& pid : Live()) {
    request.set_pid(pid);
    const auto cancelled =
        clients_.front()->Cancel(request, {.deadline = until});
    if (!cancelled.ok() && !HasEnded(cancelled.status())) {
      return cancelled.status();
    }
  }
  return absl::OkStatus();
}

absl::Status Requests::AwaitProcesses(absl::Duration deadline) {
  const absl::Time until = absl::Now() + deadline;
  v1::AwaitRequest request;
  for (const std::string& pid : Live()) {
    request.set_pid(pid);
    const auto ended = clients_.front()->Await(request, {.deadline = until});
    if (!ended.ok() && !HasEnded(ended.status())) return ended.status();
    const MutexLock lock(mutex_);
    live_.erase(pid);
  }
  return absl::OkStatus();
}

}  // namespace actord::client::bench
