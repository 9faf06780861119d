#include "daemon/wire/proto_work.h"

#include <actord/text.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_time.h"
#include "runtime/process/errors.h"
#include "runtime/settings/command_pattern.h"

namespace actord::daemon {
namespace {

namespace reason = runtime::reason;

// The comments of the wire contract state these limits.
constexpr int kMaxPatterns = 100;
constexpr size_t kMaxProgressBytes = 4096;
constexpr absl::Duration kMaxRetryDelay = absl::Hours(24);

absl::StatusOr<runtime::TaskToken> ReadTaskToken(const std::string& text) {
  absl::StatusOr<runtime::TaskToken> token = runtime::ParseTaskToken(text);
  if (token.ok() && token->attempt == 0) {
    return runtime::InvalidField(
        "token", reason::kInvalidYieldToken,
        "token is the token of a yield; it must be the token of a task");
  }
  return token;
}

}  // namespace

absl::Status CheckSubscribe(const v1::Subscribe& subscribe,
                            const runtime::RemoteTasks& work) {
  absl::Status status =
      CheckLength("subscribe.worker", subscribe.worker(), kMaxNameBytes);
  if (!status.ok()) return status;
  const int count = subscribe.commands_size();
  if (count < 1 || count > kMaxPatterns) {
    return Wrong("subscribe.commands",
                 absl::StrCat("has ", count, " items; it must have 1 to ",
                              kMaxPatterns));
  }
  for (int i = 0; i < count; ++i) {
    const std::string& pattern = subscribe.commands(i);
    const std::string field = absl::StrCat("subscribe.commands[", i, "]");
    status = CheckLength(field, pattern, kMaxNameBytes);
    if (!status.ok()) return status;
    if (!runtime::IsPattern(pattern)) {
      return Wrong(
          field,
          "is neither the name of a command nor a prefix that ends in '*'");
    }
    if (!work.MayBeExternal(pattern)) {
      return Wrong(field,
                   absl::StrCat("is \"", pattern,
                                "\", which matches no external command of this "
                                "daemon (its setting commands.external)"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWorkRequest(const v1::WorkRequest& request, bool is_first) {
  if (request.has_subscribe() != is_first) {
    return Wrong("subscribe", is_first ? "is required in the first message"
                                       : "is for the first message alone");
  }
  // The sum has 64 bits, so that it cannot overflow.
  const int64_t items = int64_t{request.completions_size()} +
                        request.failures_size() + request.heartbeats_size();
  if (items > kMaxWorkItems) {
    return Wrong("completions",
                 absl::StrCat("and failures and heartbeats are ", items,
                              " together; the limit is ", kMaxWorkItems));
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkFailure> ReadTaskFailure(const v1::TaskFailure& proto) {
  WorkFailure read;
  const absl::StatusOr<runtime::TaskToken> token = ReadTaskToken(proto.token());
  if (!token.ok()) return token.status();
  read.token = *token;
  const v1::YieldError& error = proto.error();
  if (error.code() < 0 || error.code() > kMaxStatusCode) {
    return Wrong("error.code", "is not a google.rpc.Code of 1 to 16");
  }
  absl::Status status =
      CheckLength("error.message", error.message(), kMaxErrorTextBytes);
  if (!status.ok()) return status;
  if (error.code() != 0) {
    read.failure.code = static_cast<absl::StatusCode>(error.code());
  }
  read.failure.text = error.message();
  if (!proto.has_retry_delay()) return read;
  const auto delay = FromProtoDuration(proto.retry_delay());
  if (!delay.has_value()) return Wrong("retry_delay", "is not a duration");
  if (*delay < absl::ZeroDuration()) {
    return Wrong("retry_delay", "must not be negative");
  }
  read.failure.retry_delay = std::min(*delay, kMaxRetryDelay);
  return read;
}

absl::StatusOr<WorkHeartbeat> ReadTaskHeartbeat(v1::TaskHeartbeat* proto) {
  WorkHeartbeat read;
  const absl::StatusOr<runtime::TaskToken> token =
      ReadTaskToken(proto->token());
  if (!token.ok()) return token.status();
  read.token = *token;
  if (!proto->has_progress()) return read;
  v1::Payload& progress = *proto->mutable_progress();
  absl::Status status =
      CheckLength("progress.data", progress.data(), kMaxProgressBytes);
  if (status.ok()) {
    status = CheckLength("progress.content_type", progress.content_type(),
                         kMaxClientLabelBytes);
  }
  if (!status.ok()) return status;
  read.progress = runtime::Payload{std::move(*progress.mutable_data()),
                                   std::move(*progress.mutable_content_type())};
  return read;
}

void WriteTask(runtime::TaskAttempt task, v1::Task* proto) {
  runtime::ExternalYield& yield = task.yield;
  proto->set_token(runtime::FormatTaskToken(task.token));
  proto->set_idempotency_key(runtime::FormatYieldToken(yield.token));
  proto->set_command(ToUtf8(yield.command));
  proto->mutable_payload()->set_data(std::move(yield.payload.bytes));
  proto->mutable_payload()->set_content_type(
      ToUtf8(yield.payload.content_type));
  proto->set_pid(runtime::FormatPid(yield.token.pid));
  proto->set_process_type(yield.process_type);
  proto->set_attempt(task.token.attempt);
  proto->set_max_attempts(task.max_attempts);
  *proto->mutable_lease() = ToProtoDuration(task.lease);
  if (task.attempt_deadline_unix_ns != 0) {
    *proto->mutable_attempt_deadline() =
        ToProtoTimestamp(task.attempt_deadline_unix_ns);
  }
  if (yield.deadline_unix_ns != 0) {
    *proto->mutable_deadline() = ToProtoTimestamp(yield.deadline_unix_ns);
  }
  *proto->mutable_create_time() = ToProtoTimestamp(yield.created_unix_ns);
  proto->set_traceparent(std::move(yield.traceparent));
  proto->set_tracestate(std::move(yield.tracestate));
  if (task.progress) {
    proto->mutable_progress()->set_data(std::move(task.progress->bytes));
    proto->mutable_progress()->set_content_type(
        std::move(task.progress->content_type));
  }
}

void WriteTaskCancel(const runtime::TaskCancel& cancel, v1::TaskCancel* proto) {
  proto->set_token(runtime::FormatTaskToken(cancel.token));
  proto->set_reason(cancel.reason == runtime::TaskCancel::Reason::kYieldEnded
                        ? v1::TaskCancel::REASON_YIELD_ENDED
                        : v1::TaskCancel::REASON_LEASE_LOST);
}

void WriteRefusal(const absl::Status& status, v1::TaskRefusal* proto) {
  proto->set_code(static_cast<int>(status.code()));
  proto->set_reason(runtime::ReasonOf(status));
  proto->set_message(
      ToUtf8({status.message().data(), status.message().size()}));
  if (const auto delay = runtime::RetryDelayOf(status)) {
    *proto->mutable_retry_delay() = ToProtoDuration(*delay);
  }
}

}  // namespace actord::daemon
