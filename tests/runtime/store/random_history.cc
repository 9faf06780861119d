#include <algorithm>
#include <utility>

#include "tests/runtime/store/history_generator.h"

namespace actord::runtime {

void HistoryGenerator::Step() {
  const Pid pid = Started();
  if (pid.empty()) return;
  const ExpectedState::Life& life = state_.lives[pid];
  records::Step step{.pid = pid, .turn = life.turn};
  ++step.turn.step;
  step.turn.verdict = 1;
  step.at_ns = state_.clock + Below(2);
  std::vector<ActEvent> events;
  std::vector<uint64_t> over;  // yields that this step sees the end of
  for (const auto& [position, event] : state_.mail) {
    if (event.to != pid || event.what == What::kTerminate || OneIn(3)) continue;
    step.consumed.list.push_back({.lsn = position});
    if (event.what == What::kCompletion) over.push_back(event.tag);
  }
  for (const auto& [edge, text] : state_.exits) {
    const auto& [watcher, watched, tag] = edge;
    if (watcher == pid && !OneIn(3)) {
      events.push_back({.is_exit = true, .from = watched, .tag = tag});
    }
  }
  for (const auto& [tag, yield] : life.yields) {
    const bool may_end = yield.failed || yield.cancelled ||
                         ((yield.is_call || yield.answer != 0) && OneIn(6));
    const bool ends = std::count(over.begin(), over.end(), tag) != 0;
    if (may_end && !ends && OneIn(2) && !IsSpawn(tag, pid)) {
      events.push_back({.tag = tag});
      over.push_back(tag);
    }
  }
  std::vector<ActEffect> effects;
  for (uint64_t i = Below(4); i > 0; --i) {
    ActEffect effect = EffectOf(pid, step);
    const bool late = effect.kind == ActEffect::Kind::kCancel &&
                      std::count(over.begin(), over.end(), effect.tag) != 0;
    if (!effect.text.empty() || !late) effects.push_back(std::move(effect));
  }
  // A replay type has few images.
  if (OneIn(life.replays ? 8 : 2)) step.image = Word("image");
  if (OneIn(12)) {
    step.end = EndOf();
    ended_.push_back(pid);
  }
  Add(step, std::move(effects), std::move(events));
}

ActEffect HistoryGenerator::EffectOf(const Pid& pid, records::Step& step) {
  const ExpectedState::Life& life = state_.lives[pid];
  ActEffect effect{.kind = static_cast<ActEffect::Kind>(Below(10)),
                   .text = Word("effect")};
  const auto new_tag = [&] { return effect.tag = ++step.turn.next_tag; };
  const auto other = [&] {
    effect.to = AnyPid();
    if (effect.to == pid) effect.to = {1, 7, 9, 9};
  };
  switch (effect.kind) {
    case ActEffect::Kind::kSend:
      effect.to = AnyPid();
      break;
    case ActEffect::Kind::kSpawn:
      effect.to = OneIn(5) ? Pid{1, 7, 100 + ++slots_, 1} : NewPid();
      effect.link = OneIn(3);
      effect.keep_result = OneIn(2);
      if (OneIn(2)) new_tag();
      break;
    case ActEffect::Kind::kYield:
    case ActEffect::Kind::kCall:
      effect.to = OneIn(10) ? Pid{} : AnyPid();
      if (effect.kind == ActEffect::Kind::kYield) effect.to = {};
      step.deadlines.push_back({new_tag(), state_.clock + 1 + Below(1000)});
      if (OneIn(2)) step.deadlines.pop_back();
      break;
    case ActEffect::Kind::kReply:
      if (life.owed.empty()) break;
      effect.tag = life.owed[Below(life.owed.size())].first;
      effect.status = static_cast<int32_t>(Below(3));
      break;
    case ActEffect::Kind::kMonitor:
      new_tag();
      other();
      break;
    case ActEffect::Kind::kLink:
    case ActEffect::Kind::kUnlink:
      other();
      break;
    case ActEffect::Kind::kDemonitor:
      for (const auto& [watcher, watched, tag] : state_.watches) {
        if (watcher == pid && tag != 0) effect.tag = tag;
      }
      if (effect.tag == 0) effect = {.to = pid, .text = "self"};
      break;
    case ActEffect::Kind::kCancel:
      effect.tag = CommandOf(pid);
      effect.text.clear();
      if (effect.tag == 0) effect = {.to = pid, .text = "self"};
      break;
  }
  return effect;
}

History History::Random(uint64_t seed, size_t count) {
  return HistoryGenerator(seed).Make(count);
}

}  // namespace actord::runtime
