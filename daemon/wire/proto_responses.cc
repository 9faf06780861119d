#include "daemon/wire/proto_responses.h"

#include <actord/text.h>

#include <utility>

#include "daemon/wire/proto_time.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::daemon {

v1::ProcessState ToProto(runtime::ProcessState state) {
  switch (state) {
    case runtime::ProcessState::kReady:
      return v1::PROCESS_STATE_READY;
    case runtime::ProcessState::kRunning:
      return v1::PROCESS_STATE_RUNNING;
    case runtime::ProcessState::kBlocked:
      return v1::PROCESS_STATE_BLOCKED;
    case runtime::ProcessState::kIdle:
      return v1::PROCESS_STATE_IDLE;
    case runtime::ProcessState::kDormant:
      return v1::PROCESS_STATE_DORMANT;
    case runtime::ProcessState::kQuarantined:
      return v1::PROCESS_STATE_QUARANTINED;
  }
  return v1::PROCESS_STATE_UNSPECIFIED;
}

namespace {

v1::FailureReason ToFailureReason(runtime::EndKind kind) {
  switch (kind) {
    case runtime::EndKind::kFailed:
      return v1::FAILURE_REASON_FAILED;
    case runtime::EndKind::kThrew:
      return v1::FAILURE_REASON_EXCEPTION;
    case runtime::EndKind::kCancelled:
      return v1::FAILURE_REASON_CANCELLED;
    case runtime::EndKind::kTerminated:
      return v1::FAILURE_REASON_TERMINATED;
    case runtime::EndKind::kInitRefused:
      return v1::FAILURE_REASON_INIT_REFUSED;
    case runtime::EndKind::kLimit:
      return v1::FAILURE_REASON_LIMIT_REACHED;
    case runtime::EndKind::kResult:
      break;
  }
  return v1::FAILURE_REASON_UNSPECIFIED;
}

}  // namespace

v1::ProcessEnd ToProcessEnd(runtime::EndKind kind) {
  switch (kind) {
    case runtime::EndKind::kResult:
      return v1::PROCESS_END_DONE;
    case runtime::EndKind::kFailed:
      return v1::PROCESS_END_FAILED;
    case runtime::EndKind::kThrew:
      return v1::PROCESS_END_EXCEPTION;
    case runtime::EndKind::kCancelled:
      return v1::PROCESS_END_CANCELLED;
    case runtime::EndKind::kTerminated:
      return v1::PROCESS_END_TERMINATED;
    case runtime::EndKind::kInitRefused:
      return v1::PROCESS_END_INIT_REFUSED;
    case runtime::EndKind::kLimit:
      return v1::PROCESS_END_LIMIT_REACHED;
  }
  return v1::PROCESS_END_UNSPECIFIED;
}

void WriteLabels(const runtime::SharedLabels& labels, LabelMap* proto) {
  if (labels == nullptr) return;
  labels->ForEach([&](std::string_view key, std::string_view value) {
    (*proto)[std::string(key)] = value;
  });
}

void WriteEnded(const runtime::EndedInfo& info, v1::Process* proto) {
  proto->set_pid(runtime::FormatPid(info.pid));
  proto->set_process_type(info.process_type);
  proto->set_state(v1::PROCESS_STATE_ENDED);
  *proto->mutable_create_time() = ToProtoTimestamp(info.started_unix_ns);
  proto->set_steps(info.steps);
  if (!info.name.empty()) proto->add_names(info.name);
  proto->set_durability(DurabilityOf(info.pid));
  WriteLabels(info.labels, proto->mutable_labels());
  proto->set_end(ToProcessEnd(info.kind));
  *proto->mutable_end_time() = ToProtoTimestamp(info.ended_unix_ns);
  proto->set_end_code(static_cast<int>(info.code));
  proto->set_end_message(ToUtf8(info.message));
}

void WritePayload(runtime::Payload payload, v1::Payload* proto) {
  proto->set_data(std::move(payload.bytes));
  proto->set_content_type(ToUtf8(payload.content_type));
}

void WriteFailure(runtime::EndKind kind, absl::StatusCode code,
                  std::string_view message, v1::Failure* proto) {
  ACTORD_ASSERT(kind != runtime::EndKind::kResult,
                "proto_responses.h: the kind is no result");
  proto->set_reason(ToFailureReason(kind));
  proto->set_code(static_cast<int>(code));
  proto->set_message(ToUtf8(message));
}

void WriteOutcome(const runtime::Pid& pid, runtime::Outcome outcome,
                  v1::Outcome* proto) {
  proto->set_pid(runtime::FormatPid(pid));
  if (outcome.kind == runtime::EndKind::kResult) {
    WritePayload(std::move(outcome.result), proto->mutable_result());
  } else {
    WriteFailure(outcome.kind, outcome.code, outcome.message,
                 proto->mutable_failure());
  }
  *proto->mutable_create_time() = ToProtoTimestamp(outcome.started_unix_ns);
  *proto->mutable_end_time() = ToProtoTimestamp(outcome.ended_unix_ns);
  proto->set_steps(outcome.steps);
}

void WriteSubmitted(const runtime::Pid& pid, bool duplicate, bool delivered,
                    v1::SubmitResponse* proto) {
  proto->set_pid(runtime::FormatPid(pid));
  proto->set_durability(DurabilityOf(pid));
  proto->set_receipt(ReceiptOf(pid));
  proto->set_duplicate(duplicate);
  proto->set_delivered(delivered);
}

void WriteReply(runtime::CallReply reply, v1::CallResponse* proto) {
  proto->set_pid(runtime::FormatPid(reply.pid));
  proto->set_duplicate(reply.duplicate);
  proto->set_receipt(ReceiptOf(reply.pid));
  WritePayload(std::move(reply.result), proto->mutable_result());
}

v1::Durability DurabilityOf(const runtime::Pid& pid) {
  return runtime::IsHomePid(pid) ? v1::DURABILITY_DURABLE
                                 : v1::DURABILITY_VOLATILE;
}

v1::Receipt ReceiptOf(bool is_durable) {
  return is_durable ? v1::RECEIPT_LOGGED : v1::RECEIPT_MEMORY;
}

v1::Receipt ReceiptOf(const runtime::Pid& pid) {
  return ReceiptOf(runtime::IsHomePid(pid));
}

v1::Receipt ReceiptOf(const runtime::Pid& pid, runtime::CompleteAnswer answer) {
  return answer == runtime::CompleteAnswer::kAccepted ||
                 answer == runtime::CompleteAnswer::kDuplicate
             ? ReceiptOf(pid)
             : v1::RECEIPT_UNSPECIFIED;
}

void WriteProcess(const runtime::ProcessInfo& info, v1::Process* proto) {
  proto->set_pid(runtime::FormatPid(info.pid));
  proto->set_process_type(info.process_type);
  proto->set_method(info.method);
  proto->set_state(ToProto(info.state));
  if (!info.parent.empty()) {
    proto->set_parent_pid(runtime::FormatPid(info.parent));
  }
  *proto->mutable_create_time() = ToProtoTimestamp(info.started_unix_ns);
  proto->set_steps(info.steps);
  proto->set_mailbox_messages(info.mailbox_messages);
  proto->set_mailbox_bytes(info.mailbox_bytes);
  proto->set_yields_outstanding(info.yields);
  proto->set_cancel_requested(info.cancel_requested);
  proto->set_priority(info.priority);
  proto->set_quarantine_reason(ToUtf8(info.quarantine_reason));
  for (const std::string& name : info.names) proto->add_names(name);
  proto->set_plugin(ToUtf8(info.plugin));
  proto->set_plugin_version(ToUtf8(info.plugin_version));
  const auto write = [](const std::vector<runtime::Pid>& pids, auto* texts) {
    for (const runtime::Pid& pid : pids) texts->Add(runtime::FormatPid(pid));
  };
  write(info.links, proto->mutable_linked_pids());
  write(info.monitors, proto->mutable_monitored_pids());
  write(info.monitored_by, proto->mutable_monitor_pids());
  proto->set_durability(DurabilityOf(info.pid));
  WriteLabels(info.labels, proto->mutable_labels());
}

void WriteYield(runtime::ExternalYield yield, v1::Yield* proto) {
  proto->set_token(runtime::FormatYieldToken(yield.token));
  proto->set_pid(runtime::FormatPid(yield.token.pid));
  proto->set_process_type(yield.process_type);
  proto->set_command(ToUtf8(yield.command));
  WritePayload(std::move(yield.payload), proto->mutable_payload());
  *proto->mutable_create_time() = ToProtoTimestamp(yield.created_unix_ns);
  if (yield.deadline_unix_ns != 0) {
    *proto->mutable_deadline() = ToProtoTimestamp(yield.deadline_unix_ns);
  }
  proto->set_attempts(yield.attempts);
  if (yield.lease_unix_ns != 0) {
    *proto->mutable_lease_deadline() = ToProtoTimestamp(yield.lease_unix_ns);
  }
  proto->set_worker(yield.worker);
  proto->set_last_error(ToUtf8(yield.last_error));
  proto->set_has_worker(yield.has_worker);
  proto->set_traceparent(std::move(yield.traceparent));
  proto->set_tracestate(std::move(yield.tracestate));
}

v1::CompleteYieldResponse::Answer ToProto(runtime::CompleteAnswer answer) {
  switch (answer) {
    case runtime::CompleteAnswer::kAccepted:
      return v1::CompleteYieldResponse::ANSWER_ACCEPTED;
    case runtime::CompleteAnswer::kDuplicate:
      return v1::CompleteYieldResponse::ANSWER_DUPLICATE;
    case runtime::CompleteAnswer::kConflict:
      return v1::CompleteYieldResponse::ANSWER_CONFLICT;
    case runtime::CompleteAnswer::kSuperseded:
      return v1::CompleteYieldResponse::ANSWER_SUPERSEDED;
    case runtime::CompleteAnswer::kExpired:
      return v1::CompleteYieldResponse::ANSWER_EXPIRED;
    case runtime::CompleteAnswer::kMailboxFull:
    case runtime::CompleteAnswer::kNotRestored:
      break;  // the call returns an error instead
    case runtime::CompleteAnswer::kUnknown:
      return v1::CompleteYieldResponse::ANSWER_UNKNOWN;
  }
  return v1::CompleteYieldResponse::ANSWER_UNSPECIFIED;
}

}  // namespace actord::daemon
