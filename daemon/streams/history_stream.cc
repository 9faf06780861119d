#include "daemon/streams/history_stream.h"

#include <actord/text.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_time.h"
#include "daemon/wire/rpc_message.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

using runtime::HistoryItem;
using runtime::HistoryKind;

v1::HistoryKind ToProto(HistoryKind kind) {
  // The wire has the same order, and begins with UNSPECIFIED.
  static_assert(static_cast<int>(HistoryKind::kUpToHere) + 1 ==
                v1::HISTORY_KIND_UP_TO_HERE);
  static_assert(static_cast<int>(HistoryKind::kEnded) + 1 ==
                v1::HISTORY_KIND_ENDED);
  static_assert(static_cast<int>(HistoryKind::kStep) + 1 ==
                v1::HISTORY_KIND_STEP);
  static_assert(static_cast<int>(HistoryKind::kSend) + 1 ==
                v1::HISTORY_KIND_SEND);
  static_assert(static_cast<int>(HistoryKind::kPublish) + 1 ==
                v1::HISTORY_KIND_PUBLISH);
  static_assert(static_cast<int>(HistoryKind::kLog) + 1 ==
                v1::HISTORY_KIND_LOG);
  return static_cast<v1::HistoryKind>(static_cast<int>(kind) + 1);
}

// The message of these entries is the beginning of their payload.
bool QuotesPayload(HistoryKind kind) {
  return kind == HistoryKind::kCompletion || kind == HistoryKind::kReply ||
         kind == HistoryKind::kCommandDone || kind == HistoryKind::kExit ||
         kind == HistoryKind::kWaiting;
}

}  // namespace

void WriteHistoryEntry(const HistoryItem& item, bool hides_payloads,
                       v1::HistoryEntry* proto) {
  proto->set_kind(ToProto(item.kind));
  proto->set_position(item.position);
  if (item.unix_ns != 0) {
    *proto->mutable_time() = ToProtoTimestamp(item.unix_ns);
  }
  proto->set_step(item.step);
  if (!item.peer.empty()) proto->set_peer_pid(runtime::FormatPid(item.peer));
  proto->set_tag(item.tag);
  proto->set_name(ToUtf8(item.name));
  proto->set_detail(ToUtf8(item.detail));
  proto->set_payload_bytes(item.payload_bytes);
  if (item.payload_bytes != 0 && !hides_payloads) {
    WritePayload(item.payload, proto->mutable_payload());
  }
  proto->set_code(item.code);
  if (!hides_payloads || !QuotesPayload(item.kind)) {
    proto->set_message(ToUtf8(CutUtf8(item.message, kMaxReasonBytes)));
  }
  if (item.deadline_unix_ns != 0) {
    *proto->mutable_deadline() = ToProtoTimestamp(item.deadline_unix_ns);
  }
  proto->set_attempts(item.attempts);
  proto->set_worker(ToUtf8(item.worker));
}

void WriteNotedSteps(
    const std::vector<runtime::NotedStep>& steps,
    google::protobuf::RepeatedPtrField<v1::HistoryEntry>* entries) {
  for (const runtime::NotedStep& step : steps) {
    v1::HistoryEntry* const head = entries->Add();
    head->set_kind(v1::HISTORY_KIND_STEP);
    head->set_step(step.step);
    head->set_detail(step.verdict);
    if (step.unix_ns != 0) {
      *head->mutable_time() = ToProtoTimestamp(step.unix_ns);
      *head->mutable_duration() =
          ToProtoDuration(absl::Nanoseconds(step.took_ns));
    }
    if (step.events_left_out + step.effects_left_out != 0) {
      head->set_message(absl::StrCat(step.events_left_out, " more events and ",
                                     step.effects_left_out,
                                     " more effects are not noted"));
    }
    for (const runtime::NotedItem& item : step.items) {
      v1::HistoryEntry* const entry = entries->Add();
      entry->set_kind(ToProto(item.kind));
      entry->set_step(step.step);
      if (!item.peer.empty()) {
        entry->set_peer_pid(runtime::FormatPid(item.peer));
      }
      entry->set_tag(item.tag);
      entry->set_name(ToUtf8(item.name));
      entry->set_payload_bytes(item.bytes);
      entry->set_code(item.code);
    }
  }
}

absl::Status HistoryStream::Open() {
  return thread_.Add(
      std::static_pointer_cast<HistoryStream>(shared_from_this()),
      access().owner());
}

HistoryWork::Next HistoryStream::Do() {
  {
    const absl::MutexLock lock(&mutex_);
    if (ended()) return Next::kOver;
    if (!read_.empty()) return Next::kLater;
  }
  std::vector<HistoryItem> items;
  const auto progress = reader_.Next(items);
  if (!progress.ok()) {
    // Only the errors that the runtime has made for clients have a reason.
    End(absl::IsUnavailable(progress.status())
            ? runtime::Retryable(absl::StatusCode::kUnavailable,
                                 runtime::reason::kStopped, "the daemon ends",
                                 absl::Seconds(1))
            : progress.status());
    return Next::kOver;
  }
  {
    const absl::MutexLock lock(&mutex_);
    read_ = std::move(items);
  }
  Continue();
  switch (*progress) {
    case runtime::HistoryReader::Progress::kGoesOn:
      return Next::kNow;
    case runtime::HistoryReader::Progress::kWaits:
      return Next::kLater;
    case runtime::HistoryReader::Progress::kOver:
      break;
  }
  Close(absl::OkStatus());
  return Next::kOver;
}

bool HistoryStream::TakeOutput() {
  if (read_.empty()) return false;
  outgoing_ = std::exchange(read_, {});
  thread_.Wake();
  return true;
}

absl::Status HistoryStream::WriteOutput(grpc::ByteBuffer* bytes) {
  const bool hides_payloads = access().HidesPayloads();
  v1::ReadHistoryResponse response;
  for (const HistoryItem& item : outgoing_) {
    WriteHistoryEntry(item, hides_payloads, response.add_entries());
  }
  outgoing_.clear();
  return WriteMessage(response, bytes);
}

}  // namespace actord::daemon
