#include "tests/runtime/store/expected_state.h"

#include <algorithm>

#include "runtime/table/home_pid.h"

namespace actord::runtime {

void ExpectedState::Apply(const Act& act) {
  act_ = &act;
  if (act.kind == kOpenedKind) {
    incarnation = DecodeOpened(act.payload)->incarnation;
    return;
  }
  std::visit([&](const auto& record) { On(record); }, act.record);
}

void ExpectedState::On(const records::Submitted& record) {
  Life& life = lives[record.pid];
  life.type = record.process_type;
  life.method = record.method;
  life.input = record.input.bytes;
  life.owner = static_cast<uint16_t>(record.owner);
  life.priority = record.priority;
  life.keep_result = record.keep_result;
  life.parent = record.parent;
  life.spawn = record.yield;
  clock = std::max(clock, record.at_ns);
  if (!record.name.empty()) names[{life.owner, record.name}] = record.pid;
  Remember("submit", record.owner, record.request, record.pid);
  if (!record.request.id.empty()) {
    life.request = KeyOfId("submit", record.owner, record.request.id);
  }
  uint64_t position = act_->lsn;
  for (const records::Body& body : record.messages) {
    Post(position++, {.to = record.pid,
                      .from = body.from,
                      .topic = body.topic,
                      .text = body.payload.bytes});
  }
  if (!Lives(record.parent)) return;
  if (record.link) Watch(record.parent, record.pid, 0);
  if (record.monitor != 0) Watch(record.parent, record.pid, record.monitor);
}

ExpectedState::Yield* ExpectedState::SpawnOf(const Life& life) {
  if (life.spawn == 0 || !Lives(life.parent)) return nullptr;
  auto& yields = lives[life.parent].yields;
  const auto found = yields.find(life.spawn);
  return found == yields.end() ? nullptr : &found->second;
}

void ExpectedState::On(const records::Started& record) {
  Life& life = lives[record.pid];
  life.started = true;
  life.request.clear();
  life.replays = record.durability == records::Durability::kReplay;
  if (record.image.has_value()) life.input.clear();
  life.turn = record.turn;
  life.traps = record.traps_exits;
  life.plugin = record.plugin;
  life.lifetime = record.lifetime_ns;
  if (record.image.has_value()) life.image = *record.image;
  if (Yield* const yield = SpawnOf(life)) {
    yield->answer = act_->lsn;
    Post(act_->lsn, {.to = life.parent,
                     .what = What::kCompletion,
                     .from = record.pid,
                     .tag = life.spawn,
                     .text = FormatPid(record.pid)});
  }
  life.spawn = 0;
}

void ExpectedState::On(const records::Input& record) {
  clock = std::max(clock, record.at_ns);
  const bool is_call = record.kind == records::InputKind::kCall;
  Remember(is_call            ? "call"
           : record.is_submit ? "submit"
                              : "message",
           record.owner, record.request, record.to);
  uint64_t position = act_->lsn;
  switch (record.kind) {
    case records::InputKind::kCall:
      requests[KeyOfId("call", record.owner, record.request.id)].is_open = true;
      return Post(position, {.to = record.to,
                             .what = What::kCall,
                             .topic = record.messages[0].topic,
                             .text = record.messages[0].payload.bytes});
    case records::InputKind::kMessages:
      for (const records::Body& body : record.messages) {
        Post(position++, {.to = record.to,
                          .from = body.from,
                          .topic = body.topic,
                          .text = body.payload.bytes});
      }
      return;
    case records::InputKind::kCompletion:
      if (!Lives(record.to)) return;
      if (record.request.fingerprint != Fingerprint{}) {
        records::RequestKey key = record.request;
        key.id = FormatPid(record.to) + " " + std::to_string(record.tag);
        const Owner owner{lives[record.to].owner};
        Remember("yield", owner, key, record.to);
        const Yield& yield = lives[record.to].yields[record.tag];
        requests[KeyOfId("yield", owner, key.id)].text +=
            " attempts " + std::to_string(yield.attempts) + " of " +
            std::to_string(yield.worker_owner);
      }
      lives[record.to].yields.erase(record.tag);
      return Post(position, {.to = record.to,
                             .what = What::kCompletion,
                             .tag = record.tag,
                             .status = record.status,
                             .text = record.payload.bytes});
    case records::InputKind::kCancel:
      if (Lives(record.to)) lives[record.to].cancel_requested = true;
      return Post(position, {.to = record.to, .what = What::kCancel});
    case records::InputKind::kTerminate:
      return Post(position, {.to = record.to, .what = What::kTerminate});
  }
}

void ExpectedState::See(const Pid& self, const ActEvent& event) {
  if (event.is_exit) {
    exits.erase({self, event.from, event.tag});
    watches.erase({self, event.from, event.tag});
    return;
  }
  Yield& yield = lives[self].yields[event.tag];
  if (yield.answer != 0) mail.erase(yield.answer);
  lives[self].yields.erase(event.tag);
}

void ExpectedState::On(const records::Step& record) {
  Life& life = lives[record.pid];
  clock = std::max(clock, record.at_ns);
  for (const Position& position : record.consumed.list) {
    const Event event = mail[position.lsn];
    mail.erase(position.lsn);
    if (life.replays) life.history[act_->lsn][position.lsn] = event;
    if (event.what == What::kCall) {
      life.owed.push_back({position.lsn, {event.from, event.tag}});
    } else if (event.what == What::kCompletion) {
      life.yields.erase(event.tag);
    }
  }
  if (life.replays) life.history[act_->lsn];
  if (record.image.has_value()) {
    life.history.clear();
    life.input.clear();
  }
  for (const ActEvent& event : act_->events) See(record.pid, event);
  life.turn = record.turn;
  if (record.image.has_value()) life.image = *record.image;
  uint64_t position = act_->lsn;
  for (const ActEffect& effect : act_->effects) {
    Do(record.pid, effect, position++, record);
  }
  if (record.end.has_value()) End(record.pid, *record.end);
}

void ExpectedState::Do(const Pid& self, const ActEffect& effect,
                       uint64_t position, const records::Step& step) {
  Life& life = lives[self];
  uint64_t deadline = 0;
  for (const records::Deadline& one : step.deadlines) {
    if (one.tag == effect.tag) deadline = one.at_ns;
  }
  switch (effect.kind) {
    case ActEffect::Kind::kSend:
      return PostFrom(life.owner, position,
                      {.to = effect.to,
                       .from = self,
                       .topic = "topic",
                       .text = effect.text});
    case ActEffect::Kind::kSpawn:
      if (IsHomePid(effect.to)) {
        lives[effect.to] = {.type = "child",
                            .method = "begin",
                            .input = effect.text,
                            .owner = life.owner,
                            .priority = 7,
                            .keep_result = effect.keep_result,
                            .parent = self};
      }
      if (effect.link) Watch(self, effect.to, 0);
      if (effect.tag != 0) Watch(self, effect.to, effect.tag);
      return;
    case ActEffect::Kind::kYield:
      life.yields[effect.tag] = {.text = effect.text, .deadline = deadline};
      return;
    case ActEffect::Kind::kCall:
      life.yields[effect.tag] = {.is_call = true,
                                 .deadline = deadline,
                                 .callee = effect.to,
                                 .failed = effect.to.empty()};
      if (Lives(effect.to) && lives[effect.to].owner != life.owner) {
        return Fail(self, effect.tag, position);
      }
      return Post(position, {.to = effect.to,
                             .what = What::kCall,
                             .from = self,
                             .tag = effect.tag,
                             .topic = "ask",
                             .text = effect.text});
    case ActEffect::Kind::kReply: {
      const auto owed = std::find_if(
          life.owed.begin(), life.owed.end(),
          [&](const auto& one) { return one.first == effect.tag; });
      if (owed == life.owed.end()) return;
      const auto [caller, tag] = owed->second;
      life.owed.erase(owed);
      if (caller.empty()) {
        return Answer(effect.tag,
                      std::to_string(effect.status) + " " + effect.text);
      }
      if (!Lives(caller) || lives[caller].yields.count(tag) == 0) return;
      lives[caller].yields[tag].answer = position;
      return Post(position, {.to = caller,
                             .what = What::kCompletion,
                             .from = self,
                             .tag = tag,
                             .status = effect.status,
                             .text = effect.text});
    }
    case ActEffect::Kind::kMonitor:
      return Watch(self, effect.to, effect.tag);
    case ActEffect::Kind::kLink:
      return Watch(self, effect.to, 0);
    case ActEffect::Kind::kUnlink:
      watches.erase({self, effect.to, 0});
      if (Lives(effect.to)) watches.erase({effect.to, self, 0});
      exits.erase({self, effect.to, 0});
      return;
    case ActEffect::Kind::kDemonitor:
      std::erase_if(watches, [&](const Edge& edge) {
        return std::get<0>(edge) == self && std::get<2>(edge) == effect.tag;
      });
      std::erase_if(exits, [&](const auto& exit) {
        return std::get<0>(exit.first) == self &&
               std::get<2>(exit.first) == effect.tag;
      });
      return;
    case ActEffect::Kind::kCancel:
      life.yields[effect.tag].cancelled = true;
      return;
  }
}

void ExpectedState::On(const records::Done& record) {
  if (!Lives(record.pid)) return;
  Life& life = lives[record.pid];
  const uint64_t next = act_->lsn + 1;
  if (record.status == 0) {
    switch (record.command) {
      case records::Command::kOther:
        break;
      case records::Command::kRegisterName:
        names[{life.owner, record.name}] = record.pid;
        break;
      case records::Command::kReleaseName:
        names.erase({life.owner, record.name});
        break;
      case records::Command::kJoinGroup:
        groups.insert({life.owner, record.name, record.pid});
        break;
      case records::Command::kLeaveGroup:
        groups.erase({life.owner, record.name, record.pid});
        break;
      case records::Command::kSend:
        PostFrom(life.owner, next,
                 {.to = record.target,
                  .from = record.pid,
                  .topic = record.message->topic,
                  .text = record.message->payload.bytes});
        for (size_t i = 0; i < record.others.size(); ++i) {
          PostFrom(life.owner, next + 1 + i,
                   {.to = record.others[i],
                    .from = record.pid,
                    .topic = record.message->topic,
                    .text = record.message->payload.bytes});
        }
        break;
      case records::Command::kCancel:
        if (Lives(record.target)) lives[record.target].cancel_requested = true;
        Post(next,
             {.to = record.target, .what = What::kCancel, .from = record.pid});
        break;
      case records::Command::kTerminate:
        Post(next, {.to = record.target,
                    .what = What::kTerminate,
                    .from = record.pid});
        break;
      case records::Command::kSpawn:
        if (record.link) Watch(record.pid, record.target, 0);
        if (record.monitor) Watch(record.pid, record.target, record.tag);
        break;
    }
  }
  life.yields.erase(record.tag);
  Post(act_->lsn, {.to = record.pid,
                   .what = What::kCompletion,
                   .tag = record.tag,
                   .status = record.status,
                   .text = record.result.bytes});
}

void ExpectedState::On(const records::Dropped& record) {
  // Its request was refused.
  const auto request = requests.find(KeyOfId(record.is_call     ? "call"
                                             : record.is_submit ? "submit"
                                                                : "message",
                                             record.owner, record.request));
  if (request != requests.end() &&
      request->second.lsn == record.positions.list.front().lsn) {
    requests.erase(request);
  }
  for (const Position& position : record.positions.list) {
    const auto found = mail.find(position.lsn);
    if (found == mail.end()) {
      if (record.is_told) {
        letters.erase(position.lsn);
      } else {
        DeadLetter& letter = letters[position.lsn];
        letter.reason = record.reason;
        if (record.request.empty() && record.owner != Owner::kNobody) {
          letter.owner = static_cast<uint16_t>(record.owner);
        }
      }
      continue;
    }
    const Event event = found->second;
    mail.erase(found);
    if (event.what == What::kCall) {
      Fail(event.from, event.tag, position.lsn);
    } else if (!record.is_told) {
      letters[position.lsn] = {event, record.reason, lives[record.to].owner};
    }
  }
}

void ExpectedState::On(const records::Resent& record) {
  Event event = letters[record.letter.lsn].event;
  letters.erase(record.letter.lsn);
  event.to = record.to;
  Post(act_->lsn, event);
}

void ExpectedState::On(const records::Forgotten& record) {
  for (const Position& letter : record.letters.list) letters.erase(letter.lsn);
}

void ExpectedState::On(const records::Attempt& record) {
  if (!Lives(record.pid)) return;
  Yield& yield = lives[record.pid].yields[record.tag];
  yield.attempts = record.attempt;
  yield.worker = record.worker;
  yield.worker_owner = static_cast<uint16_t>(record.worker_owner);
}

void ExpectedState::On(const records::YieldOver& record) {
  if (!Lives(record.pid)) return;
  lives[record.pid].yields.erase(record.tag);
  Post(act_->lsn, {.to = record.pid,
                   .what = What::kCompletion,
                   .tag = record.tag,
                   .status = record.status,
                   .text = record.payload.bytes});
}

void ExpectedState::On(const records::Ended& record) {
  End(record.pid, record.end, record.consumed);
}

void ExpectedState::On(const records::Upgraded& record) {
  Life& life = lives[record.pid];
  life.plugin = record.to;
  life.traps = record.traps_exits;
  if (record.image.has_value()) {
    life.image = *record.image;
    life.history.clear();
    life.input.clear();
  }
}

void ExpectedState::On(const records::Plugin& record) {
  plugins[record.number] =
      record.sha256.substr(0, 1) + " " + record.name + " " + record.version;
}

void ExpectedState::On(const records::Time& record) { clock = record.store_ns; }

}  // namespace actord::runtime
