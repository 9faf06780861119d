// The way back from the bytes of records.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/log_text.h"
#include "runtime/process/errors.h"
#include "runtime/step/record_bytes.h"
#include "runtime/step/record_format.h"
#include "runtime/step/record_kinds.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

using namespace record_kinds;  // NOLINT(google-build-using-namespace)

// Whether an effect has the contents that its kind requires. Read checks only
// each field by itself.
bool IsWhole(const auto& /*item*/) { return true; }
bool IsWhole(const SendEffect& send) {
  return send.content && send.content->type == ACTORD_EVENT_MESSAGE;
}
bool IsWhole(const SpawnEffect& spawn) {
  return !spawn.content || spawn.content->type == ACTORD_EVENT_MESSAGE;
}
bool IsWhole(const YieldEffect& yield) {
  return yield.content && yield.content->type == ACTORD_EVENT_COMPLETION &&
         (!yield.policy ||
          (yield.policy->type == ACTORD_EVENT_COMPLETION &&
           yield.policy->payload_bytes == sizeof(actord_work_policy)));
}
bool IsWhole(const CallEffect& call) {
  return call.content && call.content->type == kEventCall &&
         call.content->topic_bytes >= sizeof(CallHeader);
}
bool IsWhole(const ReplyEffect& reply) {
  return reply.content && reply.content->type == ACTORD_EVENT_COMPLETION;
}

bool IsWhole(const PublishEffect& publication) {
  return publication.content &&
         publication.content->type == ACTORD_EVENT_MESSAGE &&
         publication.content->topic_bytes != 0;
}
bool IsWhole(const LogEffect& line) {
  return line.content && line.content->type == ACTORD_EVENT_MESSAGE &&
         line.level == rules::LogLevelOf(line.level);
}

// Reads the item. False: its kind is not in the list.
template <typename Item>
bool ReadIfKind(uint16_t kind, RecordReader& in, BufferCache& buffers,
                std::vector<Item>& items) {
  return [&]<typename... Kinds>(std::variant<Kinds...>*) {
    const auto read = [&]<typename Kind>(Kind*) {
      if (kind != kKindOf<Kind>) return false;
      auto& item =
          *std::get_if<Kind>(&items.emplace_back(std::in_place_type<Kind>));
      detail::WithFields(
          item, [&](auto&... fields) { (in.Read(fields, buffers), ...); });
      if (in.ok() && !IsWhole(item))
        in.Refuse("its content is of another kind");
      return true;
    };
    return (read(static_cast<Kinds*>(nullptr)) || ...);
  }(static_cast<Item*>(nullptr));
}

class Decoder {
 public:
  Decoder(BufferCache& buffers, DecodedRecord& decoded)
      : buffers_(buffers), decoded_(decoded) {}

  absl::Status Decode(std::string_view& bytes) {
    RecordReader in(bytes);
    const auto frame = in.TakeItem();
    if (!in.ok()) return in.status();
    if (frame.kind != kInitRecord && frame.kind != kStepRecord) {
      return absl::InvalidArgumentError(
          absl::StrCat("a record of kind ", frame.kind,
                       "; the kinds that this version "
                       "knows are 1, of Init, and 2, of a step"));
    }
    if (auto status = DecodeItems(frame.body); !status.ok()) return status;
    if (!Has(kInput) || !Has(kVerdict) ||
        Has(kInit) != (frame.kind == kInitRecord) ||
        (frame.kind == kInitRecord) != (decoded_.input.step == 0)) {
      return absl::InvalidArgumentError(
          "a record has one input and one verdict; that of Init has the step "
          "0 and what Init was given, and that of a step has neither");
    }
    decoded_.input.events = decoded_.event_pointers;
    bytes.remove_prefix(frame.whole.size());
    return absl::OkStatus();
  }

  absl::Status DecodeTurn(std::string_view bytes) {
    RecordReader in(bytes);
    const auto frame = in.TakeItem();
    if (!in.ok()) return in.status();
    if (frame.kind != kTurn || frame.flags != 0 || !in.empty() ||
        frame.body.empty()) {
      return absl::InvalidArgumentError("the bytes are not one turn");
    }
    is_turn_ = true;
    if (auto status = DecodeItems(frame.body); !status.ok()) return status;
    decoded_.input.events = decoded_.event_pointers;
    ACTORD_ASSERT_HOT(IsEncoded(bytes),
                      "record_format.h: EncodeTurn has written the bytes");
    return absl::OkStatus();
  }

 private:
  // In the order of a turn, which has no kSingle.
  enum class Part : uint8_t { kSingle, kEvent, kAnswer, kEffect, kUnknown };
  absl::Status DecodeItems(std::string_view bytes) {
    RecordReader items(bytes);
    while (items.ok() && !items.empty()) {
      const auto item = items.TakeItem();
      if (!items.ok()) break;
      RecordReader body(item.body);
      ReadItem(item, body);
      if (body.ok() && !body.empty()) body.Refuse("it is longer than its kind");
      if (!body.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the item of kind ", item.kind, ": ", body.status().message()));
      }
    }
    return items.status();
  }
  [[nodiscard]] bool Has(uint16_t kind) const {
    return (seen_ >> kind & 1) != 0;
  }
  [[nodiscard]] bool IsEncoded(std::string_view bytes) const {
    std::string again;
    EncodeTurn(decoded_, again);
    return again == bytes;
  }
  void ReadItem(const RecordReader::Item& item, RecordReader& body) {
    const Part part = ReadPart(item, body);
    if (!is_turn_ || !body.ok()) return;
    if (part == Part::kSingle || part < part_ ||
        (part != Part::kUnknown && item.flags != 0)) {
      body.Refuse(
          "a turn has events, answers and effects without flags, in this "
          "order, and no other items");
    }
    part_ = part;
  }
  Part ReadPart(const RecordReader::Item& item, RecordReader& body) {
    if (ReadSingle(item.kind, body)) {
      if (Has(item.kind)) body.Refuse("it comes twice");
      seen_ |= uint64_t{1} << item.kind;
      return Part::kSingle;
    }
    if (item.kind == kEvent) {
      ReadEvent(body);
      return Part::kEvent;
    }
    if (ReadIfKind(item.kind, body, buffers_, decoded_.record.answers)) {
      return Part::kAnswer;
    }
    if (ReadIfKind(item.kind, body, buffers_, decoded_.record.effects)) {
      return Part::kEffect;
    }
    if ((item.flags & RecordReader::kSkippable) == 0) {
      body.Refuse("this version does not know it, and may not skip it");
    }
    decoded_.unknown.push_back(item.whole);
    body.SkipAll();
    return Part::kUnknown;
  }
  // Reads an item of a kind that a record has at most once. False: the item is
  // of another kind.
  bool ReadSingle(uint16_t kind, RecordReader& in) {
    TurnInput& input = decoded_.input;
    StepRecord& record = decoded_.record;
    const auto read = [&](auto&... fields) {
      (in.Read(fields, buffers_), ...);
    };
    int32_t code = 0;
    std::string text;
    actord_payload payload{};
    Pid parent;
    switch (kind) {
      case kInput:
        read(input.self, parent, input.step, input.next_tag, input.max_steps,
             input.yields, input.replies, input.cancel_requested,
             input.more_events);
        decoded_.parent.Store(parent);
        input.parent = &decoded_.parent;
        return true;
      case kInit:
        input.init.struct_size = sizeof(actord_init);
        read(input.init.method, input.init.input);
        return true;
      case kVerdict:
        read(record.verdict, record.next_tag);
        return true;
      case kResult:
        read(payload);
        record.result = FromAbi(payload);
        return true;
      case kFailure:
        read(code, record.failure);
        record.failure_code = ErrorCodeFromAbi(code);
        return true;
      case kMisuse:
        read(code, text);
        record.misuse = absl::Status(ErrorCodeFromAbi(code), text);
        return true;
      case kThrown:
        read(record.thrown);
        return true;
      case kContinuation:
        record.continuation = std::make_unique<Continuation>();
        read(record.continuation->method, payload, record.continuation->unseen);
        record.continuation->input = FromAbi(payload);
        return true;
      default:
        return false;
    }
  }
  void ReadEvent(RecordReader& in) {
    actord_event& event = decoded_.events.emplace_back();
    decoded_.event_pointers.push_back(&event);
    Pid from;
    std::string_view topic;
    const auto read = [&](auto&... fields) {
      (in.Read(fields, buffers_), ...);
    };
    read(event.type, event.status, event.tag, from, event.call, event.reason,
         topic, event.payload);
    event.from = ToAbi(from);
    event.topic = ToAbi(topic);
  }

  BufferCache& buffers_;
  DecodedRecord& decoded_;
  uint64_t seen_ = 0;  // bits of the kinds of kSingle that were read
  bool is_turn_ = false;
  Part part_ = Part::kEvent;  // of the last item of a turn
};

void Reset(DecodedRecord& decoded) {
  decoded.input = {};
  decoded.record = {};
  decoded.events.clear();
  decoded.event_pointers.clear();
  decoded.unknown.clear();
}

// The `lane` for FreeContent.
struct Freer {
  void Free(Envelope* envelope) { Envelope::Destroy(buffers, envelope); }
  BufferCache& buffers;
};

}  // namespace

absl::Status DecodeTurn(std::string_view bytes, BufferCache& buffers,
                        DecodedRecord& decoded) {
  Reset(decoded);
  if (bytes.empty()) return absl::OkStatus();
  absl::Status status = Decoder(buffers, decoded).DecodeTurn(bytes);
  if (!status.ok()) FreeContents(decoded, buffers);
  return status;
}

absl::Status DecodeRecord(std::string_view& bytes, BufferCache& buffers,
                          DecodedRecord& decoded) {
  Reset(decoded);
  absl::Status status = Decoder(buffers, decoded).Decode(bytes);
  if (!status.ok()) FreeContents(decoded, buffers);
  return status;
}

void FreeContents(DecodedRecord& decoded, BufferCache& buffers) {
  Freer freer{buffers};
  for (Effect& effect : decoded.record.effects) FreeContent(effect, freer);
  decoded.record.effects.clear();
}

}  // namespace actord::runtime
