// Durable processes in quarantine: lists and retries them.
#include <actord/text.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/synchronization/mutex.h"
#include "daemon/calls/actor_service.h"
#include "daemon/operations/find_process.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

v1::QuarantineCause ToProto(runtime::QuarantineCause cause) {
  switch (cause) {
    case runtime::QuarantineCause::kNoType:
      return v1::QUARANTINE_CAUSE_NO_TYPE;
    case runtime::QuarantineCause::kNotRestored:
      return v1::QUARANTINE_CAUSE_NOT_RESTORED;
    case runtime::QuarantineCause::kCrashed:
      return v1::QUARANTINE_CAUSE_CRASHED;
  }
  return v1::QUARANTINE_CAUSE_UNSPECIFIED;
}

void Write(const runtime::QuarantineEntry& entry,
           v1::QuarantinedProcess* proto) {
  proto->set_pid(runtime::FormatPid(entry.pid));
  proto->set_process_type(entry.process_type);
  proto->set_name(entry.name);
  proto->set_cause(ToProto(entry.cause));
  // A plugin may have written a part of it.
  proto->set_reason(ToUtf8(entry.why));
  *proto->mutable_since() = ToProtoTimestamp(entry.since_unix_ns);
  proto->set_plugin(entry.plugin);
  proto->set_plugin_version(entry.version);
  proto->set_signal(entry.signal);
  proto->set_crashes(entry.crashes);
  proto->set_mailbox_messages(entry.mailbox_messages);
}

// The page of the list that a request asks for. `list` distinguishes the page
// tokens of the calls.
template <typename Request>
absl::Status ReadFilter(const Request& request, std::string_view list,
                        uint32_t incarnation, runtime::QuarantineFilter& filter,
                        Paging& paging) {
  absl::Status status =
      CheckLength("process_type", request.process_type(), kMaxNameBytes);
  if (!status.ok()) return status;
  filter.process_type = request.process_type();
  const uint64_t scope =
      absl::HashOf(absl::string_view(list.data(), list.size()), incarnation,
                   filter.process_type, filter.by);
  return ReadPaging(request.page_size(), request.page_token(), scope, paging);
}

// Collects the outcomes of the processes that one call tries. The last one
// answers the call.
class Tries {
 public:
  using Done = std::function<void(const v1::RetryQuarantineResponse&)>;

  // `count`: number of processes, above 0. `response`: will be completed.
  Tries(size_t count, v1::RetryQuarantineResponse response, Done done)
      : left_(count), response_(std::move(response)), done_(std::move(done)) {}

  void Tried(const runtime::Pid& pid, const absl::Status& status) {
    {
      const absl::MutexLock lock(&mutex_);
      v1::RetryQuarantineResponse::Tried* const tried = response_.add_tried();
      tried->set_pid(runtime::FormatPid(pid));
      tried->set_has_left(status.ok());
      tried->set_reason(
          ToUtf8({status.message().data(), status.message().size()}));
      if (--left_ != 0) return;
    }
    done_(response_);
  }

 private:
  absl::Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  // Used only by the last callback.
  v1::RetryQuarantineResponse response_;
  const Done done_;
};

}  // namespace

absl::Status ActorService::ListQuarantine(
    const Caller& caller, v1::ListQuarantineRequest& request,
    v1::ListQuarantineResponse& response) {
  runtime::QuarantineFilter filter;
  filter.by = caller.access().sees();
  Paging paging;
  absl::Status status = ReadFilter(
      request, "quarantine", runtime_.options().incarnation, filter, paging);
  if (!status.ok()) return status;
  const runtime::QuarantinePage page =
      runtime_.ListQuarantine(filter, paging.position, paging.page_size);
  const OwnerLabels owner_labels = caller.access().owner_labels();
  for (const runtime::QuarantineEntry& entry : page.entries) {
    v1::QuarantinedProcess* const proto = response.add_processes();
    Write(entry, proto);
    owner_labels.Write(entry.owner, proto);
  }
  if (page.next_sequence != 0) {
    response.set_next_page_token(
        MakePageToken(page.next_sequence, paging.scope));
  }
  return absl::OkStatus();
}

void ActorService::RetryQuarantine(
    const Caller& caller, v1::RetryQuarantineRequest& request,
    UnaryAnswer<v1::RetryQuarantineResponse> answer) {
  const auto audit = std::make_shared<AuditEntry>(Audit(caller, request));
  const auto finish = [answer, audit](
                          const absl::Status& status,
                          const v1::RetryQuarantineResponse& response) {
    audit->Done(status);
    answer.Finish(status, response);
  };
  if (!request.pid().empty()) {
    const auto pid =
        FindControlled(runtime_, caller.access(), "pid", request.pid());
    if (!pid.ok()) return finish(pid.status(), {});
    return runtime_.RetryQuarantine(
        *pid,
        [pid = *pid, finish](const absl::Status& status) {
          v1::RetryQuarantineResponse response;
          v1::RetryQuarantineResponse::Tried* const tried =
              response.add_tried();
          tried->set_pid(runtime::FormatPid(pid));
          tried->set_has_left(status.ok());
          // The retry itself has been carried out.
          const bool stays =
              runtime::ReasonOf(status) == runtime::reason::kProcessQuarantined;
          if (stays) {
            tried->set_reason(
                ToUtf8({status.message().data(), status.message().size()}));
          }
          finish(stays ? absl::OkStatus() : status, response);
        },
        caller.access().controls());
  }
  runtime::QuarantineFilter filter;
  filter.by = caller.access().controls();
  Paging paging;
  absl::Status status =
      ReadFilter(request, "quarantine retry", runtime_.options().incarnation,
                 filter, paging);
  if (!status.ok()) return finish(status, {});
  const runtime::QuarantinePage page =
      runtime_.ListQuarantine(filter, paging.position, paging.page_size);
  v1::RetryQuarantineResponse response;
  if (page.next_sequence != 0) {
    response.set_next_page_token(
        MakePageToken(page.next_sequence, paging.scope));
  }
  if (page.entries.empty()) return finish(absl::OkStatus(), response);
  const auto tries = std::make_shared<Tries>(
      page.entries.size(), std::move(response),
      [finish](const v1::RetryQuarantineResponse& tried) {
        finish(absl::OkStatus(), tried);
      });
  for (const runtime::QuarantineEntry& entry : page.entries) {
    runtime_.RetryQuarantine(
        entry.pid,
        [tries, pid = entry.pid](const absl::Status& tried) {
          tries->Tried(pid, tried);
        },
        filter.by);
  }
}

}  // namespace actord::daemon
