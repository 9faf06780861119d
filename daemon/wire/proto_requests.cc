#include "daemon/wire/proto_requests.h"

#include <actord/text.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_time.h"
#include "runtime/actors/names.h"
#include "runtime/process/errors.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

namespace reason = runtime::reason;

// The comments of the wire contract state these limits.
constexpr size_t kMaxRequestIdBytes = 128;
constexpr int kMaxInitialMessages = 100;
constexpr int kMaxBatchItems = 1000;

absl::Status CheckRequired(std::string_view field, const std::string& text,
                           size_t max_bytes) {
  if (text.empty()) return Wrong(field, "is required");
  return CheckLength(field, text, max_bytes);
}

absl::StatusOr<absl::Duration> ReadDeadline(
    const google::protobuf::Duration& proto) {
  const auto deadline = FromProtoDuration(proto);
  if (!deadline.has_value()) return Wrong("deadline", "is not a duration");
  if (*deadline < absl::ZeroDuration()) {
    return Wrong("deadline", "must not be negative");
  }
  return *deadline;
}

absl::Status TakePayload(std::string_view field, v1::Payload* proto,
                         const runtime::PayloadLimit& payload_limit,
                         runtime::Payload& payload) {
  if (payload_limit.Refuses(proto->data().size())) {
    const std::string data = absl::StrCat(std::string(field), ".data");
    return runtime::InvalidField(
        data, reason::kPayloadTooLarge,
        absl::StrCat(data, " has ", proto->data().size(),
                     " bytes; the limit is ", payload_limit.max_bytes()));
  }
  if (proto->content_type().size() > kMaxClientLabelBytes) {
    return CheckLength(absl::StrCat(std::string(field), ".content_type"),
                       proto->content_type(), kMaxClientLabelBytes);
  }
  payload.bytes = std::move(*proto->mutable_data());
  payload.content_type = std::move(*proto->mutable_content_type());
  return absl::OkStatus();
}

absl::Status TakeMessages(v1::SubmitRequest* request,
                          const runtime::PayloadLimit& payload_limit,
                          std::vector<runtime::Message>& messages) {
  if (request->messages_size() > kMaxInitialMessages) {
    return Wrong("messages",
                 absl::StrCat("has ", request->messages_size(),
                              " items; the limit is ", kMaxInitialMessages));
  }
  messages.reserve(static_cast<size_t>(request->messages_size()));
  for (int i = 0; i < request->messages_size(); ++i) {
    v1::Message* const proto = request->mutable_messages(i);
    const std::string field = absl::StrCat("messages[", i, "]");
    runtime::Message& message = messages.emplace_back();
    absl::Status status = CheckLength(absl::StrCat(field, ".topic"),
                                      proto->topic(), kMaxClientLabelBytes);
    if (status.ok() && proto->has_payload()) {
      status =
          TakePayload(absl::StrCat(field, ".payload"), proto->mutable_payload(),
                      payload_limit, message.payload);
    }
    if (!status.ok()) return status;
    message.topic = std::move(*proto->mutable_topic());
  }
  return absl::OkStatus();
}

// Checks the fields that a call fills itself.
absl::Status CheckStart(const v1::SubmitRequest& start, bool has_message_id) {
  const auto unset = [](std::string_view field, bool is_unset,
                        std::string_view why) {
    return is_unset ? absl::OkStatus()
                    : Wrong(field, absl::StrCat("must not be set: ",
                                                runtime::ToAbsl(why)));
  };
  absl::Status status =
      unset("name", start.name().empty(), "the process gets the name in pid");
  status.Update(unset("request_id", start.request_id().empty(),
                      "the name keeps a repeated call from starting another "
                      "process"));
  status.Update(
      unset("messages", start.messages().empty(), "the process gets the call"));
  status.Update(unset("on_name_conflict", start.on_name_conflict() == 0,
                      "the holder of the name is called"));
  status.Update(unset("traceparent",
                      start.traceparent().empty() && start.tracestate().empty(),
                      "the trace is that of the call"));
  if (status.ok() && has_message_id &&
      start.durability() == v1::DURABILITY_VOLATILE) {
    return Wrong("durability",
                 "must not be VOLATILE in a call with message_id, which only a "
                 "durable process takes");
  }
  return status;
}

}  // namespace

absl::StatusOr<runtime::SubmitRequest> ReadSubmit(
    v1::SubmitRequest* request, const runtime::PayloadLimit& payload_limit) {
  absl::Status status =
      CheckRequired("process_type", request->process_type(), kMaxNameBytes);
  if (status.ok()) {
    status = CheckLength("method", request->method(), kMaxNameBytes);
  }
  if (status.ok()) {
    status =
        CheckLength("request_id", request->request_id(), kMaxRequestIdBytes);
  }
  runtime::SubmitRequest submit;
  if (status.ok() && request->has_input()) {
    status = TakePayload("input", request->mutable_input(), payload_limit,
                         submit.input);
  }
  if (status.ok()) {
    status = TakeMessages(request, payload_limit, submit.messages);
  }
  if (!status.ok()) return status;
  submit.process_type = std::move(*request->mutable_process_type());
  submit.method = std::move(*request->mutable_method());
  // The runtime checks the range of the priority, as for all submissions.
  if (request->has_priority()) submit.priority = request->priority();
  if (!request->name().empty()) {
    status = runtime::CheckName("name", request->name());
    if (!status.ok()) return status;
    submit.name = std::move(*request->mutable_name());
  }
  if (!request->labels().empty()) {
    std::vector<std::pair<std::string, std::string>> labels(
        request->labels().begin(), request->labels().end());
    absl::StatusOr<runtime::Labels> read =
        runtime::Labels::Of("labels", std::move(labels));
    if (!read.ok()) return read.status();
    submit.labels = *std::move(read);
  }
  switch (request->durability()) {
    case v1::DURABILITY_UNSPECIFIED:
      submit.durable_if_possible = true;
      return submit;
    case v1::DURABILITY_VOLATILE:
      return submit;
    case v1::DURABILITY_DURABLE:
      submit.durable = true;
      return submit;
    default:
      return runtime::InvalidField(
          "durability", runtime::reason::kInvalidField,
          absl::StrCat("durability is ", request->durability(),
                       "; it must be 1 (VOLATILE) or 2 (DURABLE); 0 "
                       "means the default of the process type"));
  }
}

// Reads the fields that SendRequest and CallRequest share, except the address.
template <typename Request>
absl::Status TakeMessage(Request* request,
                         const runtime::PayloadLimit& payload_limit,
                         runtime::Message& message) {
  absl::Status status =
      CheckLength("topic", request->topic(), kMaxClientLabelBytes);
  if (status.ok() && request->has_payload()) {
    status = TakePayload("payload", request->mutable_payload(), payload_limit,
                         message.payload);
  } else {
    // Clearing the texts, instead of assigning new ones, keeps their memory.
    message.payload.bytes.clear();
    message.payload.content_type.clear();
  }
  if (status.ok()) message.topic = std::move(*request->mutable_topic());
  return status;
}

absl::Status ReadSend(v1::SendRequest* request,
                      const runtime::PayloadLimit& payload_limit, Address& to,
                      runtime::Message& message) {
  absl::Status status = ReadReceiver(request->pid(), to);
  if (status.ok()) status = TakeMessage(request, payload_limit, message);
  if (!status.ok()) return status;
  if (to.is_group && !request->message_id().empty()) {
    return Wrong("message_id",
                 "is for a message to one process, and this one goes to a "
                 "group: leave it out");
  }
  return CheckLength("message_id", request->message_id(), kMaxRequestIdBytes);
}

absl::Status ReadCall(v1::CallRequest* request,
                      const runtime::PayloadLimit& payload_limit, Address& to,
                      runtime::Message& message) {
  absl::Status status = ReadAddress("pid", request->pid(), to);
  if (status.ok()) status = TakeMessage(request, payload_limit, message);
  if (!status.ok()) return status;
  return CheckLength("message_id", request->message_id(), kMaxRequestIdBytes);
}

absl::StatusOr<runtime::SubmitRequest> ReadStartIfAbsent(
    v1::CallRequest* request, const runtime::PayloadLimit& payload_limit,
    const Address& to, bool has_id) {
  ACTORD_ASSERT(request->has_start_if_absent(),
                "proto_requests.h: the request names a process to start");
  constexpr std::string_view kField = "start_if_absent";
  if (to.name.empty() || to.owner.has_value()) {
    return Wrong("pid",
                 "must be @ and a name, without an owner, in a call with "
                 "start_if_absent");
  }
  v1::SubmitRequest& start = *request->mutable_start_if_absent();
  absl::Status status = CheckStart(start, has_id);
  if (!status.ok()) return Below(kField, status);
  absl::StatusOr<runtime::SubmitRequest> read =
      ReadSubmit(&start, payload_limit);
  if (!read.ok()) return Below(kField, read.status());
  read->name = to.name;
  if (has_id) {
    read->durable = true;
    read->durable_if_possible = false;
  }
  return read;
}

absl::Status CheckBatch(std::string_view field, int items) {
  if (items <= kMaxBatchItems) return absl::OkStatus();
  return Wrong(field, absl::StrCat("has ", items, " items; the limit is ",
                                   kMaxBatchItems));
}

absl::StatusOr<bool> ReadNameConflict(const v1::SubmitRequest& request) {
  switch (request.on_name_conflict()) {
    case v1::SubmitRequest::NAME_CONFLICT_UNSPECIFIED:
    case v1::SubmitRequest::NAME_CONFLICT_FAIL:
      return false;
    case v1::SubmitRequest::NAME_CONFLICT_DELIVER:
      return true;
    default:
      return Wrong("on_name_conflict", "is not a value that this daemon knows");
  }
}

absl::StatusOr<absl::Duration> ReadCancelDeadline(
    const v1::CancelRequest& request) {
  if (!request.has_deadline()) return absl::ZeroDuration();
  return ReadDeadline(request.deadline());
}

absl::Status CheckReason(const std::string& reason) {
  return CheckLength("reason", reason, kMaxReasonBytes);
}

absl::StatusOr<Completion> ReadCompleteYield(
    v1::CompleteYieldRequest* request,
    const runtime::PayloadLimit& payload_limit) {
  Completion completion;
  const absl::StatusOr<runtime::TaskToken> token =
      runtime::ParseTaskToken(request->token());
  if (!token.ok()) return InField("token", token.status());
  completion.token = *token;
  switch (request->outcome_case()) {
    case v1::CompleteYieldRequest::kResult: {
      absl::Status status =
          TakePayload("result", request->mutable_result(), payload_limit,
                      completion.result.payload);
      if (!status.ok()) return status;
      return completion;
    }
    case v1::CompleteYieldRequest::kError: {
      v1::YieldError* const error = request->mutable_error();
      if (error->code() < 1 || error->code() > kMaxStatusCode) {
        return Wrong("error.code", "is not a google.rpc.Code of 1 to 16");
      }
      absl::Status status =
          CheckLength("error.message", error->message(), kMaxErrorTextBytes);
      if (!status.ok()) return status;
      completion.result.code = static_cast<absl::StatusCode>(error->code());
      completion.result.payload.bytes = std::move(*error->mutable_message());
      return completion;
    }
    case v1::CompleteYieldRequest::OUTCOME_NOT_SET:
      break;
  }
  return Wrong("outcome", "is required: either result or error");
}

absl::StatusOr<ShutdownOrder> ReadShutdown(const v1::ShutdownRequest& request,
                                           absl::Duration default_timeout) {
  ShutdownOrder order;
  switch (request.mode()) {
    case v1::ShutdownRequest::MODE_UNSPECIFIED:
    case v1::ShutdownRequest::MODE_DRAIN:
      order.mode = runtime::ShutdownMode::kDrain;
      break;
    case v1::ShutdownRequest::MODE_NOW:
      order.mode = runtime::ShutdownMode::kNow;
      break;
    default:
      return Wrong("mode", "is not a mode that this daemon knows");
  }
  order.timeout = default_timeout;
  if (request.has_deadline()) {
    const auto deadline = ReadDeadline(request.deadline());
    if (!deadline.ok()) return deadline.status();
    order.timeout = *deadline;
  }
  if (request.end_durable()) order.durable = runtime::DurableAtEnd::kEnd;
  return order;
}

}  // namespace actord::daemon
