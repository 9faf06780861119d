// The checks of a cut: outside.h.
#include <actord/abi.h>

#include <algorithm>
#include <string>

#include "handlers/rules/process_rules.h"
#include "tests/sim/store/outside.h"

namespace actord::sim {

using runtime::Pid;

namespace {

std::string TextOf(const Pid& pid) {
  return pid.empty() ? "a client" : FormatPid(pid);
}

bool IsTask(const Entry& yielded) {
  return yielded.code == CodeOf(Command::kTaskOnce) ||
         yielded.code == CodeOf(Command::kTaskAgain);
}

}  // namespace

void Outside::CheckCut(const Cut& cut) const {
  for (const auto& [pid, process] : cut.processes) {
    CheckProcess(cut, pid, process);
    if (cut.is_of_store && process.has_ended) CheckLetters(cut, pid, process);
  }
  for (const auto& [pid, what] : known) CheckKnown(cut, pid, what);
  for (const auto& sending : sendings) {
    const auto found = cut.processes.find(sending->to);
    if (!sending->is_acknowledged || found == cut.processes.end() ||
        found->second.has_ended || !found->second.diary) {
      continue;
    }
    const std::vector<Entry> came = Cut::Came(found->second);
    const bool is_there =
        std::any_of(came.begin(), came.end(), [&](const Entry& entry) {
          return entry.peer.empty() && entry.code == sending->client &&
                 entry.number == sending->errand.number;
        });
    Check(is_there, sending->to, "an acknowledged message is lost");
  }
  CheckSubmissions(cut);
}

void Outside::CheckProcess(const Cut& cut, const Pid& pid,
                           const Cut::Process& process) const {
  if (!process.diary) return;
  const Diary& diary = *process.diary;
  int64_t balance = 0;
  uint16_t version = 0;
  for (const Entry& entry : diary.entries) {
    Check(entry.version >= version, pid,
          "an older version went on after a newer one");
    version = entry.version;
    const auto amount = static_cast<int64_t>(entry.value);
    if (entry.kind == Entry::kCame) balance += amount;
    if (entry.kind == Entry::kSent) balance -= amount;
    if (entry.kind == Entry::kSpawned) {
      Check(cut.processes.contains(entry.peer), entry.peer,
            "its parent has spawned it, and it is not there");
    }
  }
  Check(balance == diary.balance, pid, "its balance is not that of its diary");
  Check(!process.is_started || process.is_replayed ||
            process.plugin >= diary.version,
        pid, "the store has an older version of it than has written its image");
  CheckMessages(cut, pid, process);
  CheckFromClients(pid, process);
  CheckSent(cut, pid, diary);
  CheckYields(cut, pid, process);
  CheckExits(cut, pid, diary);
}

void Outside::CheckMessages(const Cut& cut, const Pid& to,
                            const Cut::Process& process) const {
  std::map<Pid, uint64_t> next;
  for (const Entry& entry : Cut::Came(process)) {
    if (entry.peer.empty()) continue;
    uint64_t& number = next[entry.peer];
    if (entry.number != number) {
      Broken(TextOf(to) + ": message " + std::to_string(entry.number) + " of " +
             TextOf(entry.peer) + " came instead of " + std::to_string(number));
    }
    ++number;
  }
  for (const auto& [from, number] : next) {
    const Diary* const sender = cut.DiaryOf(from);
    if (sender == nullptr) continue;
    Check(number <= sender->Count(Entry::kSent, to), to,
          "it has a message that its sender has not sent");
  }
}

void Outside::CheckFromClients(const Pid& to,
                               const Cut::Process& process) const {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  std::map<uint64_t, uint64_t> last;  // of those without an id
  for (const Entry& entry : Cut::Came(process)) {
    if (!entry.peer.empty()) continue;
    Check(seen.emplace(entry.code, entry.number).second, to,
          "a client's message came twice");
    const auto sending =
        std::find_if(sendings.begin(), sendings.end(), [&](const auto& one) {
          return one->client == entry.code && one->to == to &&
                 one->errand.number == entry.number;
        });
    Check(sending != sendings.end(), to, "a message came that nobody sent");
    if (!(*sending)->id.empty()) continue;
    const auto [before, is_first] = last.emplace(entry.code, entry.number);
    Check(is_first || before->second < entry.number, to,
          "messages of a client came in another order");
    before->second = entry.number;
  }
}

void Outside::CheckSent(const Cut& cut, const Pid& from,
                        const Diary& diary) const {
  std::map<Pid, uint64_t> sent;
  for (const Entry& entry : diary.entries) {
    if (entry.kind == Entry::kSent) ++sent[entry.peer];
  }
  for (const auto& [to, count] : sent) {
    const auto found = cut.processes.find(to);
    Check(found != cut.processes.end(), to,
          "somebody has sent to it, and it is not there");
    const Cut::Process& receiver = found->second;
    // The mailbox of an ended process is unknown.
    if (receiver.has_ended || !receiver.diary) continue;
    if (!cut.is_of_store) continue;
    const auto came = static_cast<uint64_t>(std::ranges::count_if(
        Cut::Came(receiver), [&, sender = from](const Entry& entry) {
          return entry.peer == sender;
        }));
    if (came != count) {
      Broken(TextOf(from) + " has sent " + std::to_string(count) +
             " messages to " + TextOf(to) + ", of which " +
             std::to_string(came) + " are there");
    }
  }
}

void Outside::CheckLetters(const Cut& cut, const Pid& to,
                           const Cut::Process& process) const {
  const Diary* diary = process.diary ? &*process.diary : nullptr;
  const auto last = last_.find(to);
  if (process.was_refused && last != last_.end()) diary = &last->second;
  // Nobody knows the messages that a terminated process had got.
  if (diary == nullptr) return;
  std::vector<Entry> came = process.letters;
  for (const Entry& entry : diary->entries) {
    if (entry.kind == Entry::kCame) came.push_back(entry);
  }
  std::map<Pid, std::set<uint64_t>> of;
  for (const Entry& entry : came) {
    if (entry.peer.empty()) continue;
    if (!of[entry.peer].insert(entry.number).second) {
      Broken(TextOf(to) + ": message " + std::to_string(entry.number) + " of " +
             TextOf(entry.peer) + " came, or is a dead letter, twice");
    }
  }
  for (const auto& [from, sender] : cut.processes) {
    if (!sender.diary) continue;
    const uint64_t sent = sender.diary->Count(Entry::kSent, to);
    if (of[from].size() != sent) {
      Broken(TextOf(from) + " has sent " + std::to_string(sent) +
             " messages to " + TextOf(to) + ", which has ended; " +
             std::to_string(of[from].size()) + " came or are dead letters");
    }
  }
}

void Outside::CheckYields(const Cut& cut, const Pid& pid,
                          const Cut::Process& process) const {
  std::map<uint64_t, uint64_t> ended;
  for (const Entry& entry : process.diary->entries) {
    if (entry.kind == Entry::kCompleted) ++ended[entry.number];
  }
  for (const uint64_t tag : process.completions) ++ended[tag];
  for (const Entry& entry : process.diary->entries) {
    if (entry.kind != Entry::kYielded) continue;
    const uint64_t ends = ended[entry.number];
    const std::string tag = "yield " + std::to_string(entry.number) +
                            " of command " + std::to_string(entry.code);
    if (ends > 1) Broken(TextOf(pid) + ": " + tag + " is completed twice");
    const uint64_t outstanding = process.yields.count(entry.number);
    if (cut.is_of_store && !process.has_ended && ends + outstanding == 0) {
      Broken(TextOf(pid) + ": " + tag + " is lost");
    }
    if (ends + outstanding > 1) {
      Broken(TextOf(pid) + ": " + tag + " is completed and outstanding");
    }
    const auto task = tasks.find({pid, entry.number});
    if (task == tasks.end()) continue;
    if (task->second.acknowledged && !process.has_ended) {
      Check(ends == 1, pid, "an acknowledged answer to its task is lost");
    }
    const Entry* const completed =
        process.diary->Find(Entry::kCompleted, entry.number);
    if (completed == nullptr || completed->code != 0 || !IsTask(entry)) {
      continue;
    }
    Check(task->second.answers.contains(completed->value), pid,
          "its task has an answer that nobody gave");
    Check(!task->second.acknowledged ||
              *task->second.acknowledged == completed->value,
          pid, "its task has another answer than was acknowledged");
  }
}

void Outside::CheckExits(const Cut& cut, const Pid& pid,
                         const Diary& diary) const {
  std::set<uint64_t> exits;
  for (const Entry& entry : diary.entries) {
    if (entry.kind != Entry::kExit) continue;
    Check(exits.insert(entry.number).second, pid, "a monitor has two exits");
    const Entry* const monitored = diary.Find(Entry::kMonitored, entry.number);
    Check(monitored != nullptr && monitored->peer == entry.peer, pid,
          "an exit without its monitor");
    const auto other = cut.processes.find(entry.peer);
    if (other == cut.processes.end()) continue;
    Check(other->second.has_ended, pid,
          "it has the exit of a process that lives");
    // A monitor of a process that had ended before is told of no kind.
    Check(entry.code == ACTORD_EXIT_NO_PROCESS || !other->second.end ||
              entry.code == rules::ExitReasonOf(*other->second.end),
          pid, "it was told of another end than the outcome says");
  }
}

void Outside::CheckKnown(const Cut& cut, const Pid& pid,
                         const Known& what) const {
  const auto found = cut.processes.find(pid);
  Check(found != cut.processes.end(), pid,
        "it was seen outside, and it is not there");
  const Cut::Process& process = found->second;
  Check(!what.outcome || process.has_ended, pid,
        "its outcome was seen outside, and it lives");
  if (process.has_ended && process.end && what.ends_cancelled) {
    Check(*process.end == runtime::EndKind::kCancelled ||
              (what.may_be_terminated &&
               *process.end == runtime::EndKind::kTerminated),
          pid, "it was cancelled, and its outcome is another one");
  }
  if (cut.is_of_store && !process.has_ended) {
    Check(!what.is_cancelled || process.is_cancelled, pid,
          "an acknowledged cancel is lost");
    Check(!process.is_started || process.plugin >= what.version, pid,
          "the store has an older version of it than was seen outside");
  }
  if (!process.diary) return;
  const std::vector<Entry>& entries = process.diary->entries;
  Check(what.seen.size() <= entries.size() &&
            std::equal(what.seen.begin(), what.seen.end(), entries.begin()),
        pid, "its diary has not what was seen outside");
  for (const uint64_t number : what.told) {
    Check(process.diary->Find(Entry::kTold, number) != nullptr, pid,
          "it has not told the witness what the witness has heard");
  }
}

void Outside::CheckSubmissions(const Cut& cut) const {
  std::map<uint64_t, Pid> by_number;
  for (const auto& [pid, process] : cut.processes) {
    if (!process.diary || process.diary->entries.empty()) continue;
    const uint64_t number = process.diary->entries.front().number;
    if (number == 0) continue;
    const auto [other, is_first] = by_number.emplace(number, pid);
    if (!is_first) {
      Broken("submission " + std::to_string(number) + " has started " +
             TextOf(pid) + " and " + TextOf(other->second));
    }
    Check(number <= submissions.size(), pid, "nobody has submitted it");
    const Pid& told = submissions[number - 1]->pid;
    Check(told.empty() || told == pid, pid,
          "its submitter was told another PID");
  }
  for (const auto& [key, task] : tasks) {
    const Diary* const diary = cut.DiaryOf(key.first);
    if (diary == nullptr || (task.attempts.empty() && task.effects == 0)) {
      continue;
    }
    Check(diary->Find(Entry::kYielded, key.second) != nullptr, key.first,
          "a command was carried out that it has not yielded");
  }
}

void Outside::CheckVersions(const Cut& cut) const {
  // In a life whose Restore has refused everything, a process may have stayed
  // in its version for that reason.
  if (in_force == 0) return;
  for (const auto& [pid, process] : cut.processes) {
    const auto found = known.find(pid);
    if (!process.diary || process.has_ended || found == known.end() ||
        found->second.is_cancel_asked) {
      continue;
    }
    const Diary& diary = *process.diary;
    Check(diary.version == in_force || diary.IsRefusedBy(in_force) ||
              diary.IsBusy(),
          pid, "it stays in an older version without a reason");
  }
}

std::optional<std::string> Outside::FindUnrest(const Cut& cut) const {
  for (const auto& [pid, what] : known) {
    const auto found = cut.processes.find(pid);
    if (what.is_cancelled && found != cut.processes.end() &&
        !found->second.has_ended) {
      return TextOf(pid) + ": it was cancelled, and has not ended";
    }
  }
  for (const auto& [pid, process] : cut.processes) {
    if (!process.diary || process.has_ended) continue;
    const Diary& diary = *process.diary;
    for (const Entry& entry : diary.entries) {
      if (entry.kind == Entry::kYielded &&
          diary.Find(Entry::kCompleted, entry.number) == nullptr) {
        return TextOf(pid) + ": yield " + std::to_string(entry.number) +
               " of command " + std::to_string(entry.code) +
               " is not completed";
      }
      if (entry.kind == Entry::kSent) {
        const auto to = cut.processes.find(entry.peer);
        if (to == cut.processes.end() || to->second.has_ended ||
            !to->second.diary) {
          continue;
        }
        const uint64_t came = to->second.diary->Count(Entry::kCame, pid);
        if (came <= entry.number) {
          return TextOf(pid) + ": message " + std::to_string(entry.number) +
                 " to " + TextOf(entry.peer) + " has not arrived";
        }
      }
      if (entry.kind == Entry::kMonitored) {
        const auto other = cut.processes.find(entry.peer);
        const bool has_ended =
            other != cut.processes.end() && other->second.has_ended;
        if (has_ended && diary.Find(Entry::kExit, entry.number) == nullptr) {
          return TextOf(pid) + ": it was not told of the end of " +
                 TextOf(entry.peer);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace actord::sim
