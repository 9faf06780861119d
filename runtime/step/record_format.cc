#include "runtime/step/record_format.h"

#include <string>

#include "runtime/step/record_bytes.h"
#include "runtime/step/record_kinds.h"

namespace actord::runtime {
namespace {

using namespace record_kinds;  // NOLINT(google-build-using-namespace)

template <typename Item>
void WriteItem(RecordWriter& out, const Item& item) {
  const size_t begin = out.Begin(kKindOf<Item>);
  detail::WithFields(item, [&](auto&... fields) { (out.Write(fields), ...); });
  out.End(begin);
}

void WriteInput(RecordWriter& out, const TurnInput& input) {
  size_t begin = out.Begin(kInput);
  out.Write(input.self);
  out.Write(input.Parent());
  out.Write(input.step);
  out.Write(input.next_tag);
  out.Write(input.max_steps);
  out.Write(input.yields);
  out.Write(input.replies);
  out.Write(input.cancel_requested);
  out.Write(input.more_events);
  out.End(begin);
  if (input.step == 0) {
    begin = out.Begin(kInit);
    out.Write(input.init.method);
    out.Write(input.init.input);
    out.End(begin);
  }
}

void WriteEvents(RecordWriter& out,
                 std::span<const actord_event* const> events) {
  for (const actord_event* const event : events) {
    const size_t begin = out.Begin(kEvent);
    out.Write(event->type);
    out.Write(event->status);
    out.Write(event->tag);
    out.Write(FromAbi(event->from));
    out.Write(event->call);
    out.Write(event->reason);
    out.Write(View(event->topic));
    out.Write(event->payload);
    out.End(begin);
  }
}

void WriteEffects(RecordWriter& out, const StepRecord& record) {
  const auto write = [&](const auto& item) { WriteItem(out, item); };
  for (const WorldAnswer& answer : record.answers) std::visit(write, answer);
  for (const Effect& effect : record.effects) std::visit(write, effect);
}

void WriteTexts(RecordWriter& out, const StepRecord& record) {
  const auto write = [&](uint16_t kind, const auto&... fields) {
    const size_t begin = out.Begin(kind);
    (out.Write(fields), ...);
    out.End(begin);
  };
  write(kVerdict, record.verdict, record.next_tag);
  if (!record.result.bytes.empty() || !record.result.content_type.empty()) {
    write(kResult, ToAbi(record.result));
  }
  if (record.failure_code != absl::StatusCode::kUnknown ||
      !record.failure.empty()) {
    write(kFailure, static_cast<int32_t>(record.failure_code), record.failure);
  }
  if (!record.misuse.ok()) {
    write(kMisuse, static_cast<int32_t>(record.misuse.code()),
          std::string(record.misuse.message()));
  }
  if (!record.thrown.empty()) write(kThrown, record.thrown);
  if (const Continuation* const next = record.continuation.get()) {
    write(kContinuation, next->method, ToAbi(next->input), next->unseen);
  }
}

}  // namespace

void EncodeRecord(const TurnInput& input, const StepRecord& record,
                  std::string& out) {
  RecordWriter writer(out);
  const size_t begin =
      writer.Begin(input.step == 0 ? kInitRecord : kStepRecord);
  WriteInput(writer, input);
  WriteEvents(writer, input.events);
  WriteEffects(writer, record);
  WriteTexts(writer, record);
  writer.End(begin);
  writer.Finish();
}

void EncodeRecord(const DecodedRecord& decoded, std::string& out) {
  const size_t begin = out.size();
  EncodeRecord(decoded.input, decoded.record, out);
  for (const std::string_view item : decoded.unknown) out.append(item);
  RecordWriter(out).End(begin);
}

void EncodeTurn(std::span<const actord_event* const> events,
                const StepRecord& record, std::string& out) {
  if (events.empty() && record.answers.empty() && record.effects.empty()) {
    return;
  }
  RecordWriter writer(out);
  const size_t begin = writer.Begin(kTurn);
  WriteEvents(writer, events);
  WriteEffects(writer, record);
  writer.End(begin);
  writer.Finish();
}

void EncodeTurn(const DecodedRecord& decoded, std::string& out) {
  const size_t begin = out.size();
  EncodeTurn(decoded.event_pointers, decoded.record, out);
  if (decoded.unknown.empty()) return;
  RecordWriter writer(out);
  if (out.size() == begin) writer.Begin(kTurn);
  writer.Finish();
  for (const std::string_view item : decoded.unknown) out.append(item);
  writer.End(begin);
}

}  // namespace actord::runtime
