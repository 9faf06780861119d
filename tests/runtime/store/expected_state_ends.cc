// Ids, mailboxes, watches, and what an end does to others.
#include <algorithm>
#include <utility>

#include "runtime/table/home_pid.h"
#include "tests/runtime/store/expected_state.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kDayNs = uint64_t{24 * 3600} * 1'000'000'000;
constexpr uint64_t kWeekNs = uint64_t{7 * 24 * 3600} * 1'000'000'000;

}  // namespace

std::string ExpectedState::KeyOfId(const char* kind, Owner owner,
                                   const std::string& id) {
  return std::string(kind) + " " + std::to_string(static_cast<int>(owner)) +
         " " + id;
}

void ExpectedState::Remember(const char* kind, Owner owner,
                             const records::RequestKey& key, const Pid& pid) {
  if (key.id.empty()) return;
  requests[KeyOfId(kind, owner, key.id)] = {
      std::to_string(key.fingerprint.high) + " " + std::to_string(act_->lsn) +
          " " + FormatPid(pid),
      clock + kDayNs, act_->lsn, pid};
}

// An event has come to a mailbox, or to nobody.
void ExpectedState::Post(uint64_t position, Event event) {
  if (!IsHomePid(event.to)) return;
  if (Lives(event.to)) {
    mail[position] = std::move(event);
  } else if (event.what == What::kMessage) {
    letters[position] = {std::move(event), records::DropReason::kEnded, 0};
  } else if (event.what == What::kCall) {
    Fail(event.from, event.tag, position);
  }
}

void ExpectedState::PostFrom(uint16_t owner, uint64_t position, Event event) {
  if (!IsHomePid(event.to)) return;
  if (Lives(event.to) && lives[event.to].owner == owner) {
    return Post(position, std::move(event));
  }
  letters[position] = {std::move(event), records::DropReason::kEnded, owner};
}

void ExpectedState::Answer(uint64_t call, const std::string& text) {
  for (auto& [key, kept] : requests) {
    if (!kept.is_open || kept.lsn != call) continue;
    kept.is_open = false;
    kept.expires = clock + kDayNs;
    kept.text += " answer " + text;
  }
}

void ExpectedState::Fail(const Pid& caller, uint64_t tag, uint64_t call) {
  if (caller.empty()) return Answer(call, "ended");
  if (!Lives(caller)) return;
  auto& yields = lives[caller].yields;
  if (const auto yield = yields.find(tag); yield != yields.end()) {
    yield->second.failed = true;
  }
}

void ExpectedState::Watch(const Pid& watcher, const Pid& watched,
                          uint64_t tag) {
  const Edge edge{watcher, watched, tag};
  if (!watches.insert(edge).second || !IsHomePid(watched)) return;
  if (!Lives(watched)) {
    exits[edge] = "unknown process";
  } else if (tag == 0) {
    watches.insert({watched, watcher, 0});
  }
}

void ExpectedState::End(const Pid& pid, const records::End& end,
                        const Positions& consumed) {
  const Life life = lives[pid];
  lives.erase(pid);
  clock = std::max(clock, end.at_ns);
  // Its submitter was told that it did not begin.
  if (const auto request = requests.find(life.request);
      request != requests.end() && request->second.pid == pid) {
    requests.erase(request);
  }
  if (Yield* const yield = SpawnOf(life)) {
    yield->answer = act_->lsn;
    Post(act_->lsn, {.to = life.parent,
                     .what = What::kCompletion,
                     .from = pid,
                     .tag = life.spawn,
                     .status = end.code,
                     .text = end.message});
  }
  std::erase_if(names, [&](const auto& name) { return name.second == pid; });
  std::erase_if(groups,
                [&](const auto& member) { return std::get<2>(member) == pid; });
  for (const auto& [call, caller] : life.owed)
    Fail(caller.first, caller.second, call);
  for (auto one = mail.begin(); one != mail.end();) {
    const auto [position, event] = *one++;
    if (event.to != pid) continue;
    mail.erase(position);
    if (event.what == What::kCall) Fail(event.from, event.tag, position);
    const Position at{.lsn = position};
    const auto& taken = consumed.list;
    if (event.what == What::kMessage &&
        std::find(taken.begin(), taken.end(), at) == taken.end()) {
      letters[position] = {event, records::DropReason::kDroppedAtEnd,
                           life.owner};
    }
  }
  for (auto one = watches.begin(); one != watches.end();) {
    const Edge edge = *one++;
    const auto [watcher, watched, tag] = edge;
    if (watcher == pid) watches.erase(edge);
    if (watched != pid || !Lives(watcher)) continue;
    if (tag == 0 && end.reason == records::EndReason::kResult &&
        !lives[watcher].traps) {
      watches.erase(edge);
    } else {
      exits[edge] = EndText(end);
    }
  }
  std::erase_if(
      exits, [&](const auto& exit) { return std::get<0>(exit.first) == pid; });
  if (!life.keep_result) return;
  outcomes[pid] = {EndText(end) + " steps " + std::to_string(life.turn.step) +
                       " result " + end.result.bytes,
                   end.at_ns + kWeekNs};
}

}  // namespace actord::runtime
