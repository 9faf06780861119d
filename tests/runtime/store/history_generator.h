// The generator of random histories: a small model of clients, processes and
// workers, which does what the expected state allows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/records/records.h"
#include "runtime/system/random.h"
#include "runtime/table/home_pid.h"
#include "tests/runtime/store/expected_state.h"
#include "tests/runtime/store/history.h"

namespace actord::runtime {

class HistoryGenerator {
 public:
  explicit HistoryGenerator(uint64_t seed) : random_(seed) {}

  History Make(size_t count) {
    history_.AddOpened(1);
    Applied();
    while (history_.acts().size() < count) One();
    return std::move(history_);
  }

 private:
  using What = ExpectedState::What;
  static constexpr uint64_t kHourNs = 3'600'000'000'000;

  uint64_t Below(uint64_t bound) { return random_.Next() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  std::string Word(const char* what) {
    return std::string(what) + std::to_string(++words_);
  }
  void Applied() {
    while (applied_ < history_.acts().size()) {
      state_.Apply(history_.acts()[applied_++]);
    }
  }
  void Add(records::Any record, std::vector<ActEffect> effects = {},
           std::vector<ActEvent> events = {}) {
    history_.Add(std::move(record), std::move(effects), std::move(events));
    Applied();
  }
  Pid NewPid() {
    return HomePid(static_cast<uint32_t>(Below(kHomes)), 1, ++slots_, 1);
  }
  // Any live process, now and then an ended or a volatile process.
  Pid AnyPid() {
    if (!ended_.empty() && OneIn(12)) return ended_[Below(ended_.size())];
    if (OneIn(15)) return {1, 7, 3, 5};
    return Living();
  }
  Pid Living() {
    if (state_.lives.empty()) return {};
    auto at = state_.lives.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(Below(state_.lives.size())));
    return at->first;
  }
  Pid Started() {
    for (int i = 0; i < 8; ++i) {
      const Pid pid = Living();
      if (!pid.empty() && state_.lives[pid].started) return pid;
    }
    return {};
  }
  // An outstanding command of the process; 0: none.
  uint64_t CommandOf(const Pid& pid) {
    std::vector<uint64_t> tags;
    for (const auto& [tag, yield] : state_.lives[pid].yields) {
      if (!yield.is_call && yield.answer == 0 && !IsSpawn(tag, pid)) {
        tags.push_back(tag);
      }
    }
    return tags.empty() ? 0 : tags[Below(tags.size())];
  }
  bool IsSpawn(uint64_t tag, const Pid& parent) {
    return std::any_of(
        state_.lives.begin(), state_.lives.end(), [&](const auto& life) {
          return life.second.parent == parent && life.second.spawn == tag;
        });
  }
  records::RequestKey Key() {
    if (!OneIn(3)) return {};
    return {.id = "id" + std::to_string(Below(20)),
            .fingerprint = {Below(1000), 1}};
  }
  records::Body Message() {
    return {.topic = "in", .payload = {Word("body"), ""}};
  }
  records::End EndOf() {
    records::End end;
    if (!OneIn(2)) {
      end.reason = records::EndReason::kFailed;
      end.code = 10;
      end.message = Word("why");
    } else {
      end.result.bytes = Word("result");
    }
    end.at_ns = state_.clock + 1;
    return end;
  }

  void One() {
    switch (Below(16)) {
      case 0:
      case 1:
        return Submit();
      case 2:
      case 3:
        return Start();
      case 4:
      case 5:
        return Input();
      case 6:
        return Completions();
      case 7:
        return Builtin();
      case 8:
        return Letters();
      case 9:
        return Rare();
      default:
        return Step();
    }
  }

  void Submit() {
    records::Submitted record;
    record.pid = NewPid();
    record.process_type = "counter";
    record.method = "m";
    record.input.bytes = Word("input");
    record.owner = Owner{static_cast<uint16_t>(Below(2))};
    const std::string name = "name" + std::to_string(Below(6));
    if (OneIn(3) &&
        state_.names.count({static_cast<uint16_t>(record.owner), name}) == 0) {
      record.name = name;
    }
    for (uint64_t i = Below(3); i > 0; --i)
      record.messages.push_back(Message());
    record.request = Key();
    record.keep_result = OneIn(2);
    record.priority = static_cast<uint8_t>(Below(32));
    record.at_ns = state_.clock + Below(3);
    if (const Pid parent = Started(); OneIn(3) && !parent.empty()) {
      record.parent = parent;
      record.yield = CommandOf(parent);
      record.link = OneIn(3);
      if (OneIn(2)) record.monitor = 1000 + ++words_;
    }
    Add(record);
  }

  void Start() {
    for (const auto& [pid, life] : state_.lives) {
      if (life.started) continue;
      if (OneIn(8)) return End(pid);
      records::Started record{.pid = pid, .turn = {.next_tag = 1}};
      if (OneIn(3)) record.lifetime_ns = state_.clock + kHourNs;
      if (OneIn(3)) {
        record.durability = records::Durability::kReplay;
      } else {
        record.image = Word("image");
      }
      record.traps_exits = OneIn(2);
      return Add(record);
    }
  }

  void End(const Pid& pid) {
    records::Ended record{.pid = pid, .end = EndOf()};
    for (const auto& [position, event] : state_.mail) {
      if (event.to == pid && OneIn(4)) {
        record.consumed.list.push_back({.lsn = position});
      }
    }
    ended_.push_back(pid);
    Add(record);
  }

  void Input() {
    records::Input record;
    record.to = AnyPid();
    if (!IsHomePid(record.to)) return;
    record.at_ns = state_.clock + Below(3);
    if (OneIn(8)) {
      record.kind = OneIn(2) ? records::InputKind::kCancel
                             : records::InputKind::kTerminate;
      return Add(record);
    }
    record.request = Key();
    if (!record.request.id.empty() && OneIn(2)) return Call(record);
    record.is_submit = !record.request.id.empty() && OneIn(3);
    record.owner = Owner{static_cast<uint16_t>(Below(2))};
    for (uint64_t i = (record.is_submit ? 0 : 1) + Below(3); i > 0; --i) {
      record.messages.push_back(Message());
    }
    Add(record);
    inputs_[history_.acts().back().lsn] = record;
  }

  // While a call has no answer, its id is not used again.
  void Call(records::Input record) {
    record.owner = Owner{static_cast<uint16_t>(Below(2))};
    const auto known = state_.requests.find(
        ExpectedState::KeyOfId("call", record.owner, record.request.id));
    if (known != state_.requests.end() && known->second.is_open) return;
    record.kind = records::InputKind::kCall;
    record.messages.push_back(Message());
    Add(record);
    inputs_[history_.acts().back().lsn] = record;
  }

  void Completions() {
    const Pid pid = Started();
    const uint64_t tag = pid.empty() ? 0 : CommandOf(pid);
    if (tag == 0) return;
    if (OneIn(2)) {
      const uint32_t before = state_.lives[pid].yields[tag].attempts;
      return Add(records::Attempt{.pid = pid,
                                  .tag = tag,
                                  .attempt = before + 1,
                                  .worker = Word("worker"),
                                  .lease_ns = state_.clock + 5,
                                  .worker_owner = Owner{7}});
    }
    if (OneIn(3)) {
      return Add(records::YieldOver{
          .pid = pid, .tag = tag, .status = 4, .payload = {Word("over"), ""}});
    }
    const uint64_t answer = Below(2);  // of a task, or not
    Add(records::Input{.to = pid,
                       .kind = records::InputKind::kCompletion,
                       .request = {.fingerprint = {answer, answer}},
                       .tag = tag,
                       .payload = {Word("done"), ""}});
  }

  void Builtin() {
    const Pid pid = Started();
    const uint64_t tag = pid.empty() ? 0 : CommandOf(pid);
    if (tag == 0) return;
    const uint16_t owner = state_.lives[pid].owner;
    records::Done record{.pid = pid, .tag = tag, .result = {Word("r"), ""}};
    record.name = "name" + std::to_string(Below(6));
    const auto holder = state_.names.find({owner, record.name});
    record.command = static_cast<records::Command>(Below(9));
    switch (record.command) {
      case records::Command::kRegisterName:
        if (holder != state_.names.end() && holder->second != pid) {
          record.status = 6;
        }
        break;
      case records::Command::kReleaseName:
        if (holder == state_.names.end() || holder->second != pid) {
          record.status = 5;
        }
        break;
      case records::Command::kLeaveGroup:
        if (state_.groups.count({owner, record.name, pid}) == 0) {
          record.status = 5;
        }
        break;
      case records::Command::kSend:
        record.message = Message();
        record.target = AnyPid();
        for (uint64_t i = Below(3); i > 0; --i) {
          record.others.push_back(AnyPid());
        }
        break;
      case records::Command::kCancel:
      case records::Command::kTerminate:
        record.target = AnyPid();
        break;
      case records::Command::kSpawn:
        // No PID of a store.
        record.target = {1, 7, 100 + ++slots_, 1};
        record.link = OneIn(2);
        record.monitor = !record.link || OneIn(2);
        break;
      default:
        break;
    }
    Add(record);
  }

  void Letters() {
    if (OneIn(2) && !state_.letters.empty()) {
      auto at = state_.letters.begin();
      std::advance(at,
                   static_cast<std::ptrdiff_t>(Below(state_.letters.size())));
      const Position letter{.lsn = at->first};
      if (OneIn(3)) return Add(records::Forgotten{.letters = {{letter}}});
      if (OneIn(3)) {
        return Drop(at->second.event.to, letter.lsn,
                    records::DropReason::kEnded);
      }
      const Pid to = AnyPid();
      if (!IsHomePid(to)) return;
      return Add(records::Resent{.letter = letter, .to = to});
    }
    for (const auto& [position, event] : state_.mail) {
      if (event.what != What::kMessage && event.what != What::kCall) continue;
      if (!OneIn(3)) continue;
      return Drop(event.to, position, records::DropReason::kMailboxFull);
    }
  }

  // The first message of an input takes the id of the input along.
  void Drop(const Pid& to, uint64_t position, records::DropReason reason) {
    records::Dropped record{
        .to = to, .positions = {{{.lsn = position}}}, .reason = reason};
    record.is_told = OneIn(3);
    if (const auto input = inputs_.find(position); input != inputs_.end()) {
      record.request = input->second.request.id;
      record.owner = input->second.owner;
      record.is_submit = input->second.is_submit;
      record.is_call = input->second.kind == records::InputKind::kCall;
    }
    Add(record);
  }

  void Rare() {
    const Pid pid = Started();
    switch (Below(6)) {
      case 0:
        return Add(records::Time{
            .unix_ns = 5,
            .store_ns = state_.clock + (OneIn(4) ? 30 * kHourNs : 10)});
      case 1:
        return AddPlugin(static_cast<uint32_t>(1 + Below(3)));
      case 2:
        return Add(records::Checkpoint{.applied = {.lsn = 8}});
      case 3:
        if (!pid.empty()) Upgrade(pid);
        return;
      case 4:
        return Add(records::OwnerName{
            .owner = Owner{static_cast<uint16_t>(1 + Below(3))},
            .name = Word("owner")});
      default:
        if (!pid.empty()) End(pid);
    }
  }

  void AddPlugin(uint32_t number) {
    Add(records::Plugin{
        .number = number,
        .name = "bank",
        .version = Word("v"),
        .sha256 = std::string(32, static_cast<char>('a' + Below(3)))});
  }

  void Upgrade(const Pid& pid) {
    const ExpectedState::Life& life = state_.lives[pid];
    records::Upgraded record{.pid = pid, .from = life.plugin};
    record.to = static_cast<uint32_t>(1 + Below(3));
    if (!state_.plugins.contains(record.to)) AddPlugin(record.to);
    record.traps_exits = life.traps;
    if (OneIn(2)) record.image = Word("image");
    Add(record);
  }

  void Step();
  // An effect of a step of the process; it may take the next tag.
  ActEffect EffectOf(const Pid& pid, records::Step& step);

  Random random_;
  History history_;
  ExpectedState state_;
  size_t applied_ = 0;
  uint64_t words_ = 0;
  uint32_t slots_ = 0;
  std::vector<Pid> ended_;
  std::map<uint64_t, records::Input> inputs_;  // by lsn
};

}  // namespace actord::runtime
