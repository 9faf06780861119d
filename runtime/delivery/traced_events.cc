#include "runtime/delivery/traced_events.h"

#include <cstring>
#include <string_view>

#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// The last bytes of the topic. The bytes of the tracestate are in front of it.
struct TraceBlock {
  std::array<uint8_t, 16> trace_id;
  std::array<uint8_t, 8> span_id;
  uint16_t inner_type;
  uint16_t state_bytes;
  uint8_t flags;
  bool is_due;
  std::array<uint8_t, 2> unused;
};
static_assert(sizeof(TraceBlock) == 32);

TraceBlock BlockOf(const Envelope& envelope) {
  const std::string_view topic = envelope.topic();
  ACTORD_ASSERT(
      (envelope.type == kEventTraced || envelope.type == kEventTraceNote) &&
          topic.size() >= sizeof(TraceBlock),
      "traced_events.h: the envelope has a trace");
  TraceBlock block;
  std::memcpy(&block, topic.data() + topic.size() - sizeof(block),
              sizeof(block));
  return block;
}

// An envelope with room for the texts of `event` and `more` bytes behind its
// topic, and with the event's payload and topic.
Envelope* CopyOf(BufferCache& buffers, uint16_t type, const Envelope& event,
                 std::string_view topic, std::string_view more) {
  const actord_payload payload = event.payload();
  Envelope* const copy = Envelope::CreateFor(
      buffers, type, Envelope::TextBytes(topic, payload) + more.size());
  copy->payload_bytes = static_cast<uint32_t>(payload.bytes.size);
  copy->topic_bytes = static_cast<uint16_t>(topic.size() + more.size());
  copy->content_type = event.content_type;
  const std::string_view type_text =
      View(payload.content_type).substr(0, event.content_type.bytes());
  char* free = copy->content();
  for (const std::string_view text :
       {View(payload.bytes), topic, more, type_text}) {
    // An empty view may have no address.
    if (!text.empty()) std::memcpy(free, text.data(), text.size());
    free += text.size();
  }
  // The sender of a message, a call or a logged event: the only member that a
  // wrapped event uses.
  copy->from = event.from;
  copy->generation = event.generation;
  copy->charged = event.charged;
  return copy;
}

Envelope* NewWithTrace(BufferCache& buffers, uint16_t type,
                       const Envelope& event, const TraceContext& trace,
                       bool is_due) {
  const TraceBlock block{
      .trace_id = trace.trace_id,
      .span_id = trace.span_id,
      .inner_type = event.type,
      .state_bytes = static_cast<uint16_t>(trace.state.size()),
      .flags = trace.flags,
      .is_due = is_due,
      .unused = {}};
  char more[kMaxTracestateBytes + sizeof(block)];
  ACTORD_ASSERT(trace.state.size() <= kMaxTracestateBytes,
                "trace_context.h: the tracestate is not too long");
  trace.state.copy(more, kMaxTracestateBytes);
  std::memcpy(more + trace.state.size(), &block, sizeof(block));
  return CopyOf(buffers, type, event, event.topic(),
                {more, trace.state.size() + sizeof(block)});
}

}  // namespace

size_t TracedBytesFor(std::string_view topic, const actord_payload& payload,
                      bool is_logged, const TraceContext* trace) {
  size_t bytes = sizeof(Envelope) + Envelope::TextBytes(topic, payload);
  if (is_logged) bytes += sizeof(PositionHeader);
  if (trace != nullptr) bytes += trace->state.size() + sizeof(TraceBlock);
  return BufferCache::RoundUp(bytes);
}

Envelope* NewTraced(BufferCache& buffers, const Envelope& event,
                    const TraceContext& trace) {
  return NewWithTrace(buffers, kEventTraced, event, trace, /*is_due=*/false);
}

Envelope* Wrap(Envelope* event, const TraceContext& trace, Lane& lane) {
  return lane.WithMemory([&](BufferCache& buffers, auto& /*processes*/) {
    Envelope* const traced = NewTraced(buffers, *event, trace);
    Envelope::Destroy(buffers, event);
    return traced;
  });
}

Envelope* NewInput(const Payload& input, const TraceContext* trace,
                   BufferCache& buffers) {
  if (input == Payload{} && trace == nullptr) return nullptr;
  Envelope* const plain =
      Envelope::Create(buffers, ACTORD_EVENT_MESSAGE, {}, ToAbi(input));
  if (trace == nullptr) return plain;
  Envelope* const traced = NewTraced(buffers, *plain, *trace);
  Envelope::Destroy(buffers, plain);
  return traced;
}

void TraceInput(Content& input, const TraceContext* trace, Lane& lane) {
  if (trace == nullptr) return;
  if (!input) input = Content(lane.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, {}));
  input = Content(Traced(input.Take(), trace, lane));
}

Envelope* NewTraceNote(const TraceContext& trace, uint32_t generation,
                       bool is_due, Lane& lane) {
  return lane.WithMemory([&](BufferCache& buffers, auto& /*processes*/) {
    Envelope* const empty =
        Envelope::CreateFor(buffers, ACTORD_EVENT_MESSAGE, 0);
    Envelope* const note =
        NewWithTrace(buffers, kEventTraceNote, *empty, trace, is_due);
    Envelope::Destroy(buffers, empty);
    note->generation = generation;
    return note;
  });
}

TraceContext TraceOf(const Envelope& envelope) {
  const TraceBlock block = BlockOf(envelope);
  TraceContext trace{.trace_id = block.trace_id,
                     .span_id = block.span_id,
                     .flags = block.flags};
  std::string_view text = envelope.topic();
  text.remove_suffix(sizeof(block));
  trace.state = text.substr(text.size() - block.state_bytes);
  return trace;
}

bool IsDueNote(const Envelope& envelope) { return BlockOf(envelope).is_due; }

uint16_t InnerTypeOf(const Envelope& envelope) {
  return BlockOf(envelope).inner_type;
}

Envelope* Unwrap(Envelope* envelope, Lane& lane) {
  const TraceBlock block = BlockOf(*envelope);
  std::string_view topic = envelope->topic();
  topic.remove_suffix(sizeof(block) + block.state_bytes);
  return lane.WithMemory([&](BufferCache& buffers, auto& /*processes*/) {
    Envelope* const event =
        CopyOf(buffers, block.inner_type, *envelope, topic, {});
    Envelope::Destroy(buffers, envelope);
    return event;
  });
}

}  // namespace actord::runtime
