#include "runtime/store/record_bodies.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/step/record_format.h"

namespace actord::runtime {
namespace {

absl::Status NoBody(uint64_t index) {
  return absl::DataLossError(
      absl::StrCat("journal: a record has no body ", index));
}

StoredBody Stored(const records::Body& body) {
  StoredBody stored;
  stored.topic = body.topic;
  stored.payload = body.payload;
  return stored;
}
StoredBody Stored(const Payload& payload) {
  StoredBody stored;
  stored.payload = payload;
  return stored;
}
StoredBody Stored(const Envelope& envelope) {
  StoredBody stored;
  std::string_view topic = envelope.topic();
  if (envelope.type == kEventCall) topic.remove_prefix(sizeof(CallHeader));
  stored.topic = topic;
  stored.payload = FromAbi(envelope.payload());
  return stored;
}

absl::StatusOr<StoredBody> OfMessages(const std::vector<records::Body>& bodies,
                                      uint64_t index) {
  if (index >= bodies.size()) return NoBody(index);
  return Stored(bodies[index]);
}

absl::StatusOr<StoredBody> Of(const auto& /*record*/, uint64_t index,
                              BufferCache& /*buffers*/) {
  return NoBody(index);
}
absl::StatusOr<StoredBody> Of(const records::Submitted& record, uint64_t index,
                              BufferCache& /*buffers*/) {
  return OfMessages(record.messages, index);
}
absl::StatusOr<StoredBody> Of(const records::Input& record, uint64_t index,
                              BufferCache& /*buffers*/) {
  if (record.kind == records::InputKind::kMessages ||
      record.kind == records::InputKind::kCall) {
    return OfMessages(record.messages, index);
  }
  if (index != 0) return NoBody(index);
  return Stored(record.payload);
}
absl::StatusOr<StoredBody> Of(const records::Done& record, uint64_t index,
                              BufferCache& /*buffers*/) {
  if (index == 0) return Stored(record.result);
  if (index > 1 + record.others.size() || !record.message.has_value()) {
    return NoBody(index);
  }
  return Stored(*record.message);
}
absl::StatusOr<StoredBody> Of(const records::YieldOver& record, uint64_t index,
                              BufferCache& /*buffers*/) {
  if (index != 0) return NoBody(index);
  return Stored(record.payload);
}
absl::StatusOr<StoredBody> Of(const records::Step& record, uint64_t index,
                              BufferCache& buffers) {
  DecodedRecord turn;
  absl::Status status = DecodeTurn(record.record, buffers, turn);
  if (!status.ok()) return absl::DataLossError(std::string(status.message()));
  const absl::Cleanup free_contents = [&] { FreeContents(turn, buffers); };
  if (index >= turn.record.effects.size()) return NoBody(index);
  return std::visit(
      [&](const auto& effect) -> absl::StatusOr<StoredBody> {
        if constexpr (requires { effect.content; }) {
          if (effect.content) return Stored(*effect.content);
        }
        return NoBody(index);
      },
      turn.record.effects[index]);
}

}  // namespace

absl::StatusOr<StoredBody> BodyIn(const records::Any& record, uint64_t index,
                                  BufferCache& buffers) {
  return std::visit([&](const auto& one) { return Of(one, index, buffers); },
                    record);
}

}  // namespace actord::runtime
