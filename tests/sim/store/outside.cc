#include "tests/sim/store/outside.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace actord::sim {

using runtime::Pid;

Outside::Outside(Schedule& its_schedule, runtime::SimulatedDisk& its_disk,
                 uint64_t seed)
    : schedule(its_schedule), disk(its_disk), random(seed) {}

void Outside::Broken(const std::string& what) const {
  schedule.when_broken(what);
  std::abort();
}

std::optional<Pid> Outside::Pick() {
  if (order_.empty()) return std::nullopt;
  return order_[Draw(order_.size())];
}

Outside::Submission& Outside::NewSubmission() {
  auto submission = std::make_unique<Submission>();
  submission->number = submissions.size() + 1;
  if (Draw(2) == 0) {
    submission->id = "submit " + std::to_string(submission->number);
  }
  // Two in a row may want the same name.
  if (Draw(2) == 0) {
    submission->name = "name/" + std::to_string(submission->number / 2 % 4);
  }
  submission->is_replayed = Draw(4) == 0;
  submissions.push_back(std::move(submission));
  return *submissions.back();
}

Outside::Sending* Outside::NewSending(uint64_t client) {
  const std::optional<Pid> to = Pick();
  if (!to) return nullptr;
  auto sending = std::make_unique<Sending>();
  sending->client = client;
  sending->to = *to;
  Errand& errand = sending->errand;
  errand.client = client;
  errand.number = next_numbers_[{client, *to}]++;
  errand.amount = static_cast<int64_t>(Draw(1000));
  errand.budget = static_cast<uint32_t>(Draw(4));
  errand.witness = witness;
  errand.peer = *Pick();
  if (Draw(2) == 0) {
    sending->id = "send " + std::to_string(sendings.size());
    sending->is_call = Draw(3) == 0;
  } else {
    sending->is_call = Draw(4) == 0;
  }
  sendings.push_back(std::move(sending));
  return sendings.back().get();
}

void Outside::HearOf(const Pid& pid) {
  if (IsDead() || known.contains(pid)) return;
  known.emplace(pid, Known{});
  order_.push_back(pid);
}

void Outside::HearSubmitted(Submission& submission, const Pid& pid) {
  if (IsDead()) return;
  if (submission.pid.empty()) {
    submission.pid = pid;
  } else if (!(submission.pid == pid)) {
    Broken("submission " + std::to_string(submission.number) + " is " +
           FormatPid(submission.pid) + " and " + FormatPid(pid));
  }
  HearOf(pid);
}

void Outside::HearSent(Sending& sending) {
  if (!IsDead()) sending.is_acknowledged = true;
}

void Outside::HearDiary(const Pid& pid, const std::string& bytes) {
  if (IsDead()) return;
  HearOf(pid);
  Diary diary;
  Check(Diary::Decode(bytes, diary), pid, "its answer is no diary");
  const auto found = known.find(pid);
  if (found == known.end()) return;  // The life has ended before HearOf.
  Known& of = found->second;
  std::vector<Entry>& seen = of.seen;
  const size_t both = std::min(seen.size(), diary.entries.size());
  Check(std::equal(seen.begin(), seen.begin() + static_cast<ptrdiff_t>(both),
                   diary.entries.begin()),
        pid, "its diary is another one than it was");
  // Answers may come in another order than they were given.
  if (diary.entries.size() < seen.size()) return;
  if (diary.entries.size() > seen.size()) {
    Check(diary.entries[seen.size()].version >= of.version, pid,
          "an older version goes on after a newer one was seen outside");
    seen = diary.entries;
  }
  of.version = std::max(of.version, diary.version);
}

void Outside::HearOutcome(const Pid& pid, const runtime::Outcome& outcome) {
  if (IsDead()) return;
  HearOf(pid);
  Known& of = known[pid];
  if (of.outcome) {
    Check(of.outcome->kind == outcome.kind &&
              of.outcome->result.bytes == outcome.result.bytes,
          pid, "it has two outcomes");
    return;
  }
  of.outcome = outcome;
  if (outcome.kind == runtime::EndKind::kResult) {
    HearDiary(pid, outcome.result.bytes);
  }
}

void Outside::HearTold(const Pid& scribe, uint64_t number) {
  if (IsDead()) return;
  HearOf(scribe);
  std::set<uint64_t>& told = known[scribe].told;
  Check(told.empty() || *told.rbegin() < number, scribe,
        "the witness is told something twice, or in another order");
  told.insert(number);
}

void Outside::HearTerminated(const Pid& pid) {
  if (!IsDead()) known[pid].is_terminated = true;
}

void Outside::BeginLife() {
  in_force = 0;
  has_trouble = refuses_restores = false;
  for (auto& [pid, what] : known) {
    what.is_quarantined = false;
    what.pending_tries = 0;
  }
}

void Outside::HearCancelled(const Pid& pid) {
  if (IsDead()) return;
  ++cancels;
  Known& what = known.at(pid);
  // It may be in a step, or about to begin one.
  if (!std::exchange(what.is_cancelled, true)) what.steps_left = 1;
}

void Outside::HearStep(const Pid& pid, uint16_t version, bool is_replayed) {
  if (IsDead()) return;
  const auto found = known.find(pid);
  if (found == known.end()) return;
  Known& what = found->second;
  Check(version >= what.version, pid,
        "it takes a step in an older version than was seen outside");
  Check(!what.is_quarantined, pid, "it takes a step in quarantine");
  if (is_replayed || !what.is_cancelled) return;
  Check(what.steps_left != 0, pid, "it takes a step behind its cancel");
  --what.steps_left;
}

void Outside::HearQuarantined(const Pid& pid, uint64_t tries) {
  if (IsDead()) return;
  ++quarantined;
  Known& what = known.at(pid);
  // Otherwise it may have left the quarantine meanwhile.
  if (what.tries == tries) what.is_quarantined = true;
}

void Outside::HearTry(const Pid& pid) {
  if (IsDead()) return;
  HearOf(pid);
  const auto found = known.find(pid);
  if (found == known.end()) return;  // The life has ended before HearOf.
  Known& what = found->second;
  what.is_quarantined = false;
  ++what.tries;
  ++what.pending_tries;
}

void Outside::HearTried(const Pid& pid) {
  if (!IsDead()) --known.at(pid).pending_tries;
}

void Outside::TakeStored(const Cut& cut) {
  for (auto& [pid, what] : known) {
    const auto found = cut.processes.find(pid);
    if (found == cut.processes.end() || !found->second.is_cancelled) continue;
    what.is_cancelled = true;
    what.steps_left = 0;
    const Cut::Process& process = found->second;
    if (process.is_started && !process.is_replayed) what.ends_cancelled = true;
  }
}

void Outside::HearTask(const runtime::TaskToken& token, bool is_once) {
  if (IsDead()) return;
  const Pid& pid = token.yield.pid;
  schedule.Trace("task %lu of %s is handed out, attempt %u", token.yield.tag,
                 FormatPid(pid).c_str(), token.attempt);
  HearOf(pid);
  Task& task = tasks[{pid, token.yield.tag}];
  Check(task.attempts.insert(token.attempt).second, pid,
        "an attempt of its task is handed out twice");
  Check(!is_once || task.attempts.size() == 1, pid,
        "its task with one attempt is handed out twice");
  Check(!task.acknowledged, pid, "its task is handed out after its answer");
  Check(!task.is_unknown, pid,
        "its task is handed out after an answer to it was called unknown");
}

void Outside::HearUnknown(const runtime::YieldToken& yield) {
  if (!IsDead()) tasks[{yield.pid, yield.tag}].is_unknown = true;
}

void Outside::HearCompleted(const runtime::YieldToken& yield, uint64_t value) {
  if (IsDead()) return;
  Task& task = tasks[{yield.pid, yield.tag}];
  Check(!task.acknowledged || *task.acknowledged == value, yield.pid,
        "two answers to its task are accepted");
  task.acknowledged = value;
}

void Outside::HearEffect(const runtime::YieldToken& yield) {
  if (IsDead()) return;
  HearOf(yield.pid);
  Check(++tasks[{yield.pid, yield.tag}].effects == 1, yield.pid,
        "a handler of its command is called twice");
}

}  // namespace actord::sim
