#include "runtime/turn/step_notes.h"

#include <actord/text.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "handlers/rules/log_text.h"
#include "runtime/process/payload.h"
#include "runtime/step/verdict.h"

namespace actord::runtime {
namespace {

std::string NoteName(std::string_view name) {
  return std::string(CutUtf8(name, NotedStep::kMaxNameBytes));
}

NotedItem NoteEvent(const actord_event& event) {
  NotedItem item{.code = event.status,
                 .peer = FromAbi(event.from),
                 .tag = event.tag,
                 .bytes = event.payload.bytes.size};
  switch (event.type) {
    case ACTORD_EVENT_MESSAGE:
      if (event.call != 0) item.kind = HistoryKind::kCall;
      item.name = NoteName(View(event.topic));
      break;
    case ACTORD_EVENT_COMPLETION:
      item.kind = HistoryKind::kCompletion;
      break;
    case ACTORD_EVENT_EXIT:
      item.kind = HistoryKind::kExit;
      break;
    default:
      item.kind = HistoryKind::kCancelSeen;
  }
  return item;
}

// Sets the name and the size from the content of an effect.
void NoteContent(const Content& content, size_t header_bytes, NotedItem& item) {
  if (!content) return;
  std::string_view topic = content->topic();
  topic.remove_prefix(std::min(header_bytes, topic.size()));
  item.name = NoteName(topic);
  item.bytes = content->payload_bytes;
}

struct NoteEffect {
  const ProcessTable& processes;
  NotedItem& item;

  void operator()(const SendEffect& send) const {
    item.kind = HistoryKind::kSend;
    item.peer = send.to;
    NoteContent(send.content, 0, item);
  }
  void operator()(const SpawnEffect& spawn) const {
    item.kind = HistoryKind::kSpawn;
    item.peer = spawn.child;
    item.tag = spawn.monitor;
    NoteContent(spawn.content, 0, item);
    // Null: there is no such type, so the child ends at once.
    const ProcessType* const type =
        processes.Reserved(spawn.child).type.load(std::memory_order_relaxed);
    if (type != nullptr) item.name = NoteName(type->name);
  }
  void operator()(const YieldEffect& yield) const {
    item.kind = HistoryKind::kYield;
    item.tag = yield.content->completion.tag;
    NoteContent(yield.content, 0, item);
  }
  void operator()(const CallEffect& call) const {
    item.kind = HistoryKind::kCallOut;
    item.peer = call.to;
    item.tag = call.content->ReadHeader<CallHeader>().call;
    NoteContent(call.content, sizeof(CallHeader), item);
  }
  void operator()(const ReplyEffect& reply) const {
    item.kind = HistoryKind::kReply;
    item.code = reply.content->completion.status;
    NoteContent(reply.content, 0, item);
  }
  void operator()(const PublishEffect& publish) const {
    item.kind = HistoryKind::kPublish;
    NoteContent(publish.content, 0, item);
  }
  void operator()(const LogEffect& log) const {
    item.kind = HistoryKind::kLog;
    NoteContent(log.content, 0, item);
    item.name = rules::LogLevelName(log.level);
  }
  void operator()(const TieEffect& tie) const {
    constexpr HistoryKind kKinds[] = {HistoryKind::kMonitor,
                                      HistoryKind::kDemonitor,
                                      HistoryKind::kLink, HistoryKind::kUnlink};
    item.kind = kKinds[static_cast<size_t>(tie.kind)];
    item.peer = tie.other;
    item.tag = tie.tag;
  }
  void operator()(const CancelEffect& cancel) const {
    item.kind = HistoryKind::kCancelYield;
    item.tag = cancel.tag;
  }
};

}  // namespace

NotedStep NoteStep(const TurnInput& input, const StepRecord& record) {
  NotedStep step{.step = input.step,
                 .verdict = record.misuse.ok() ? VerdictName(record.verdict)
                                               : "broke a rule"};
  for (const actord_event* const event : input.events) {
    if (step.items.size() < NotedStep::kMaxEvents) {
      step.items.push_back(NoteEvent(*event));
    } else {
      ++step.events_left_out;
    }
  }
  return step;
}

void NoteEffects(const StepRecord& record, const ProcessTable& processes,
                 NotedStep& step) {
  size_t noted = 0;
  for (const Effect& effect : record.effects) {
    if (noted++ >= NotedStep::kMaxEffects) {
      ++step.effects_left_out;
      continue;
    }
    NotedItem item;
    std::visit(NoteEffect{processes, item}, effect);
    step.items.push_back(std::move(item));
  }
}

}  // namespace actord::runtime
