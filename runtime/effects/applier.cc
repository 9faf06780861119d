// performance-notes: Rare code moved out.
#include "runtime/effects/applier.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "handlers/rules/log_text.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/chain.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

void Applier::ApplyEffects(std::vector<Effect>& effects, Process& process,
                           const Pid& self) {
  Effect* const end = effects.data() + effects.size();
  const Owner by = process.owner.load(std::memory_order_relaxed);
  for (Effect* effect = effects.data(); effect != end;) {
    if (std::holds_alternative<SendEffect>(*effect)) [[likely]] {
      effect = ApplySends(effect, end, by);
    } else {
      effect = ApplyOther(process, self, effect, end);
    }
  }
  effects.clear();
}

Effect* Applier::ApplyOther(Process& process, const Pid& self, Effect* effect,
                            Effect* end) {
  if (std::holds_alternative<SpawnEffect>(*effect)) {
    return ApplySpawns(self, effect, end);
  }
  if (auto* const yield = std::get_if<YieldEffect>(effect)) [[likely]] {
    owners_.Apply(std::move(*yield), process, self, lane_);
  } else if (auto* const call = std::get_if<CallEffect>(effect)) {
    owners_.Apply(std::move(*call), process, self, lane_);
  } else if (auto* const reply = std::get_if<ReplyEffect>(effect)) {
    owners_.Apply(std::move(*reply), process, self, lane_);
  } else if (auto* const tie = std::get_if<TieEffect>(effect)) {
    owners_.Apply(TieEffect(*tie), process, self, lane_);
  } else if (auto* const cancel = std::get_if<CancelEffect>(effect)) {
    owners_.Apply(CancelEffect(*cancel), process, self, lane_);
  } else if (auto* const publish = std::get_if<PublishEffect>(effect)) {
    owners_.Apply(std::move(*publish), process, self, lane_);
  } else if (auto* const log = std::get_if<LogEffect>(effect)) {
    owners_.Apply(std::move(*log), process, self, lane_);
  }
  return effect + 1;
}

Effect* Applier::ApplySends(Effect* first, Effect* end, Owner by) {
  auto& send = *std::get_if<SendEffect>(first);
  Effect* const next = first + 1;
  if (next != end) {
    const auto* const same = std::get_if<SendEffect>(next);
    if (same != nullptr && same->to == send.to)
      return ApplyBurst(first, end, by);
  }
  ApplySend(send, by);
  return next;
}

Effect* Applier::ApplyBurst(Effect* first, Effect* end, Owner by) {
  auto& first_send = *std::get_if<SendEffect>(first);
  if (first_send.content->type == kEventTraced) [[unlikely]] {
    // A turn unwraps only messages that are in no chain.
    ApplySend(first_send, by);
    return first + 1;
  }
  const Pid& to = first_send.to;
  // (A copy, because the compiler would read `to` again after each write.)
  const Pid receiver = to;
  std::array<Envelope*, Activity::kMaxChain> taken;
  uint64_t units = 0;
  Effect* const limit = first + std::min<size_t>(end - first, taken.size());
  Effect* next = first;
  size_t count = 0;
  for (; next != limit; ++next) {
    auto* const same = std::get_if<SendEffect>(next);
    if (same == nullptr || same->to != receiver) break;
    Envelope* const envelope = same->content.TakeLast();
    units += envelope->units();
    taken[count++] = envelope;
  }
  Envelope* head = taken[0];
  Envelope* last = head;
  if (count < kShortestChain) {
    for (size_t i = 1; i < count; ++i) {
      last->SetNext(taken[i]);
      last = taken[i];
    }
  } else {
    head = last = NewChain(lane_.buffers(), count, units);
    std::copy_n(taken.begin(), count, MessagesOf(*head).begin());
  }
  if (delivery_.SendTogether(by, to, head, last, count, units, lane_) !=
      Posted::kDelivered) [[unlikely]] {
    SendOneByOne(by, to, head, last);
  }
  return next;
}

void Applier::SendOneByOne(Owner by, const Pid& to, Envelope* head,
                           Envelope* last) {
  const auto send = [&](Envelope* envelope) {
    const Posted posted = delivery_.Send(by, to, envelope, lane_);
    if (posted != Posted::kDelivered) {
      undelivered_.DropRefused(envelope, to, posted, by, lane_);
    }
  };
  if (head->type == kEventChain) {
    for (Envelope* const envelope : MessagesOf(*head)) send(envelope);
    lane_.Free(head);
    return;
  }
  for (bool is_last = false; !is_last;) {
    Envelope* const envelope = head;
    is_last = envelope == last;
    if (!is_last) head = envelope->Next();
    send(envelope);
  }
}

Effect* Applier::ApplySpawns(const Pid& self, Effect* first, Effect* end) {
  Effect* next = first;
  while (next != end) {
    auto* const spawn = std::get_if<SpawnEffect>(next);
    if (spawn == nullptr) break;
    if (spawn->link || spawn->monitor != 0) [[unlikely]] {
      TieChild(self, *spawn);
    }
    next = StartChild(*spawn, next + 1, end);
    if (children_.count == children_.processes.size()) {
      scheduler_.EnqueueTogether(children_, lane_.here());
    }
  }
  scheduler_.EnqueueTogether(children_, lane_.here());
  return next;
}

void Applier::TieChild(const Pid& self, const SpawnEffect& spawn) {
  Ties& ties = owners_.Get<Ties>();
  if (spawn.link) ties.Link(self, spawn.child, lane_);
  if (spawn.monitor != 0) {
    ties.Monitor(self, spawn.monitor, spawn.child, lane_);
  }
}

Effect* Applier::StartChild(SpawnEffect& spawn, Effect* next, Effect* end) {
  const Pid& pid = spawn.child;
  Process& child = processes_.Reserved(pid);
  child.init_due = true;
  child.input = spawn.content.TakeLast();
  child.refusal = TextOf(spawn.refusal);
  child.keep_result = spawn.keep_result;
  Envelope* last = nullptr;
  uint64_t count = 0;
  uint64_t units = 0;
  const uint64_t word = child.activity.load(std::memory_order_relaxed);
  for (; next != end; ++next, ++count) {
    auto* const send = std::get_if<SendEffect>(next);
    if (send == nullptr || send->to != pid) break;
    Envelope* const envelope = send->content.TakeLast();
    units += envelope->units();
    if (!delivery_.HasRoom(word, count + 1, units)) [[unlikely]] {
      units -= envelope->units();
      break;
    }
    if (!delivery_.ChargeFirst(child, *envelope)) [[unlikely]] {
      units -= envelope->units();
      break;
    }
    envelope->generation = pid.generation;
    envelope->SetNext(nullptr);
    if (last == nullptr) {
      child.in_hand = envelope;
    } else {
      last->SetNext(envelope);
    }
    last = envelope;
  }
  lane_.Count(&Counters::messages_sent, count);
  lane_.Count(&Counters::processes_started);
  if (Activity::Add(child.activity, Activity::kReady - Activity::kEnded +
                                        Activity::ForMessages(count, units))) {
    children_.Add(&child);
  }
  return next;
}

StepLines Applier::LinesOf(const std::vector<Effect>& effects) const {
  const ProcessLog& log = owners_.Get<ProcessLog>();
  StepLines lines;
  for (auto effect = effects.rbegin(); effect != effects.rend(); ++effect) {
    const auto* const line = std::get_if<LogEffect>(&*effect);
    if (line == nullptr || !log.Has(line->level)) continue;
    if (lines.list.size() == rules::kMaxFailedStepLines) {
      ++lines.left_out;
      continue;
    }
    lines.list.push_back(
        {line->level, std::string(View(line->content->payload().bytes))});
  }
  std::reverse(lines.list.begin(), lines.list.end());
  return lines;
}

StepLines Applier::Rollback(StepRecord& record) {
  StepLines lines = LinesOf(record.effects);
  for (Effect& effect : record.effects) {
    FreeContent(effect, lane_);
    const auto* spawn = std::get_if<SpawnEffect>(&effect);
    // (LiveWorld gives durable children back.)
    if (spawn != nullptr && !IsHomePid(spawn->child)) {
      // No other thread has the child's PID.
      processes_.Unreserve(lane_.processes(),
                           processes_.Reserved(spawn->child));
    }
  }
  record.effects.clear();
  record.DropResult();
  return lines;
}

}  // namespace actord::runtime
