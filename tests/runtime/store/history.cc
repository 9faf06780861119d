#include "tests/runtime/store/history.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "runtime/memory/buffer_pool.h"
#include "runtime/records/record_codec.h"
#include "runtime/step/record_format.h"

namespace actord::runtime {

std::string TurnOfExits(size_t count) {
  actord_event exit{};
  exit.type = ACTORD_EVENT_EXIT;
  const std::vector<const actord_event*> events(count, &exit);
  std::string turn;
  EncodeTurn(events, StepRecord{}, turn);
  return turn;
}

// Writes the events and effects of a step as a turn.
class History::TurnWriter {
 public:
  std::string Write(const Pid& self, const std::vector<ActEffect>& effects,
                    const std::vector<ActEvent>& events) {
    std::deque<actord_event> whole;
    std::vector<const actord_event*> pointers;
    for (const ActEvent& event : events) {
      actord_event& one = whole.emplace_back();
      one = {};
      one.type = event.is_exit ? ACTORD_EVENT_EXIT : ACTORD_EVENT_COMPLETION;
      one.tag = event.tag;
      one.from = ToAbi(event.from);
      pointers.push_back(&one);
    }
    StepRecord record;
    for (const ActEffect& effect : effects) Add(self, effect, record);
    std::string turn;
    EncodeTurn(pointers, record, turn);
    struct {
      void Free(Envelope* envelope) { Envelope::Destroy(buffers, envelope); }
      BufferCache& buffers;
    } freer{buffers_};
    for (Effect& effect : record.effects) FreeContent(effect, freer);
    return turn;
  }

 private:
  Content New(uint16_t type, std::string_view topic, const std::string& text) {
    return Content(
        Envelope::Create(buffers_, type, topic, {ToAbi(text), ToAbi("")}));
  }
  Content Sent(uint16_t type, const Pid& self, std::string_view topic,
               const std::string& text) {
    Content content = New(type, topic, text);
    content->from = ToAbi(self);
    return content;
  }
  Content Completion(uint64_t tag, int32_t status, std::string_view topic,
                     const std::string& text) {
    Content content = New(ACTORD_EVENT_COMPLETION, topic, text);
    content->completion.tag = tag;
    content->completion.status = status;
    return content;
  }
  static TieEffect::Kind TieKind(ActEffect::Kind kind) {
    switch (kind) {
      case ActEffect::Kind::kMonitor:
        return TieEffect::Kind::kMonitor;
      case ActEffect::Kind::kDemonitor:
        return TieEffect::Kind::kDemonitor;
      case ActEffect::Kind::kLink:
        return TieEffect::Kind::kLink;
      default:
        return TieEffect::Kind::kUnlink;
    }
  }
  void Add(const Pid& self, const ActEffect& effect, StepRecord& record) {
    auto& out = record.effects;
    switch (effect.kind) {
      case ActEffect::Kind::kSend:
        out.emplace_back(SendEffect{
            Sent(ACTORD_EVENT_MESSAGE, self, "topic", effect.text), effect.to});
        break;
      case ActEffect::Kind::kSpawn:
        record.answers.emplace_back(ReserveChildAnswer{
            "child", "begin", 7, effect.to, SpawnRefusal::kNone});
        out.emplace_back(SpawnEffect{
            Sent(ACTORD_EVENT_MESSAGE, {}, "", effect.text), effect.to,
            effect.tag, SpawnRefusal::kNone, effect.keep_result, effect.link});
        break;
      case ActEffect::Kind::kYield:
        out.emplace_back(YieldEffect{
            Completion(effect.tag, 0, "command", effect.text), 0, {}});
        break;
      case ActEffect::Kind::kCall: {
        Content call =
            Sent(kEventCall, self, std::string(8, '\0') + "ask", effect.text);
        call->WriteHeader(CallHeader{effect.tag});
        out.emplace_back(CallEffect{std::move(call), effect.to, 0});
        break;
      }
      case ActEffect::Kind::kReply:
        out.emplace_back(ReplyEffect{
            Completion(0, effect.status, "", effect.text), effect.tag});
        break;
      case ActEffect::Kind::kCancel:
        out.emplace_back(CancelEffect{effect.tag});
        break;
      default:
        out.emplace_back(
            TieEffect{TieKind(effect.kind), effect.to, effect.tag});
    }
  }

  BufferPool pool_;
  BufferCache buffers_{pool_};
};

History::History() : turns_(std::make_unique<TurnWriter>()) {}
History::History(History&& other) noexcept = default;
History::~History() = default;

void History::Push(Act&& act) {
  act.lsn = next_;
  next_ = act.end();
  acts_.push_back(std::move(act));
}

void History::Add(records::Any record, std::vector<ActEffect> effects,
                  std::vector<ActEvent> events) {
  if (auto* const step = std::get_if<records::Step>(&record)) {
    step->record = turns_->Write(step->pid, effects, events);
  }
  Act act;
  const auto kind =
      std::visit([](const auto& one) { return one.kKind; }, record);
  act.kind = static_cast<uint16_t>(kind);
  act.flags = records::FlagsOf(kind);
  records::Encode(record, act.payload);
  act.record = std::move(record);
  act.effects = std::move(effects);
  act.events = std::move(events);
  Push(std::move(act));
}

void History::AddOpened(uint64_t incarnation) {
  Act act;
  act.kind = kOpenedKind;
  act.payload = EncodeOpened({incarnation, 1});
  act.record = records::Checkpoint{};
  Push(std::move(act));
}

void History::RemoveLast() {
  next_ = acts_.back().lsn;
  acts_.pop_back();
}

size_t History::CountBefore(uint64_t lsn) const {
  return static_cast<size_t>(
      std::count_if(acts_.begin(), acts_.end(),
                    [&](const Act& act) { return act.lsn < lsn; }));
}

absl::StatusOr<SourceRecord> History::At(uint64_t lsn) {
  if (lsn < trimmed_) return absl::NotFoundError("trimmed");
  const auto found = std::lower_bound(
      acts_.begin(), acts_.end(), lsn,
      [](const Act& act, uint64_t at) { return act.lsn < at; });
  if (found == acts_.end() || found->lsn != lsn) {
    return absl::DataLossError("no record");
  }
  return SourceRecord{found->kind, found->flags, found->payload};
}

}  // namespace actord::runtime
