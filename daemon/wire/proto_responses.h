// Translates the runtime's answers into messages of actord.v1.
//
// Texts from plugins are made valid UTF-8, because clients reject other texts.
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/map.h>

#include <string>
#include <string_view>

#include "actord/v1/actor_service.pb.h"
#include "runtime/runtime.h"

namespace actord::daemon {

using LabelMap = google::protobuf::Map<std::string, std::string>;
void WriteLabels(const runtime::SharedLabels& labels, LabelMap* proto);
v1::ProcessEnd ToProcessEnd(runtime::EndKind kind);
// Writes an ended process.
void WriteEnded(const runtime::EndedInfo& info, v1::Process* proto);
void WritePayload(runtime::Payload payload, v1::Payload* proto);
// Writes the failure of a process. Precondition: the kind is not kResult.
void WriteFailure(runtime::EndKind kind, absl::StatusCode code,
                  std::string_view message, v1::Failure* proto);
void WriteOutcome(const runtime::Pid& pid, runtime::Outcome outcome,
                  v1::Outcome* proto);
// Writes the answer to a submission. `delivered`: the process holds the name
// and has the messages.
void WriteSubmitted(const runtime::Pid& pid, bool duplicate, bool delivered,
                    v1::SubmitResponse* proto);
// Writes the answer to a call.
void WriteReply(runtime::CallReply reply, v1::CallResponse* proto);
// Whether the process `pid` is VOLATILE or DURABLE.
v1::Durability DurabilityOf(const runtime::Pid& pid);
// The receipt of an acknowledgement, which waits for the disk if `is_durable`.
v1::Receipt ReceiptOf(bool is_durable);
// The receipt of an acknowledgement for the process `pid`.
v1::Receipt ReceiptOf(const runtime::Pid& pid);
// The receipt of the answer to a completion of a yield of `pid`. UNSPECIFIED:
// the completion has no effect.
v1::Receipt ReceiptOf(const runtime::Pid& pid, runtime::CompleteAnswer answer);
v1::ProcessState ToProto(runtime::ProcessState state);
void WriteProcess(const runtime::ProcessInfo& info, v1::Process* proto);
void WriteYield(runtime::ExternalYield yield, v1::Yield* proto);
v1::CompleteYieldResponse::Answer ToProto(runtime::CompleteAnswer answer);

}  // namespace actord::daemon
