#include "tests/sim/store/rest.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/process/errors.h"

namespace actord::sim {

using runtime::Pid;

template <typename Condition>
void Rest::WaitUntil(const Pid& pid, const char* what, Condition is_over) {
  constexpr uint64_t kMostNs = 30'000'000'000;
  const uint64_t until = outside_.schedule.now_ns() + kMostNs;
  for (uint64_t pause = 100'000; !is_over() && !outside_.IsDead();) {
    outside_.Check(outside_.schedule.now_ns() <= until, pid, what);
    outside_.schedule.SleepFor(pause, /*busy=*/false);
    pause = std::min<uint64_t>(2 * pause, 50'000'000);
  }
}

std::optional<absl::StatusOr<std::string>> Rest::Get(const Pid& pid) {
  for (;;) {
    // The answer may come when the program ends.
    auto answer =
        std::make_shared<std::optional<absl::StatusOr<std::string>>>();
    runtime_.Call(
        pid, {"get", {}}, [answer](absl::StatusOr<runtime::Payload> got) {
          answer->emplace(got.ok() ? absl::StatusOr<std::string>(got->bytes)
                                   : got.status());
        });
    WaitUntil(pid, "it does not answer", [&] { return answer->has_value(); });
    if (outside_.IsDead()) return std::nullopt;
    const absl::StatusOr<std::string>& got = **answer;
    const std::string reason = runtime::ReasonOf(got.status());
    if (outside_.has_trouble &&
        reason == runtime::reason::kProcessQuarantined) {
      // It has been refused just before everything was mended.
      operator_.MendAll();
    } else if (reason != runtime::reason::kJournalBehind) {
      return got;
    }
    outside_.schedule.SleepFor(1'000'000, /*busy=*/false);
  }
}

void Rest::AskOne(const Pid& pid, Cut& cut) {
  const auto diary = Get(pid);
  if (!diary) return;
  Cut::Process process;
  if (diary->ok()) {
    outside_.HearDiary(pid, **diary);
    static_cast<void>(Diary::Decode(**diary, process.diary.emplace()));
    cut.processes[pid] = std::move(process);
    return;
  }
  auto outcome =
      std::make_shared<std::optional<absl::StatusOr<runtime::Outcome>>>();
  runtime_.Await(pid, [outcome](absl::StatusOr<runtime::Outcome> got) {
    outcome->emplace(std::move(got));
  });
  WaitUntil(pid, "its end is not told", [&] { return outcome->has_value(); });
  if (outside_.IsDead()) return;
  if (!(*outcome)->ok()) {
    outside_.Broken(FormatPid(pid) + " neither lives nor has an outcome: " +
                    std::string((*outcome)->status().message()));
  }
  outside_.HearOutcome(pid, ***outcome);
  process.has_ended = true;
  process.end = (**outcome)->kind;
  if ((**outcome)->kind == runtime::EndKind::kResult) {
    static_cast<void>(
        Diary::Decode((**outcome)->result.bytes, process.diary.emplace()));
  }
  cut.processes[pid] = std::move(process);
}

std::optional<Cut> Rest::Ask() {
  Cut cut;
  std::vector<Pid> queue;
  for (const auto& [pid, known] : outside_.known) queue.push_back(pid);
  while (!queue.empty()) {
    const Pid pid = queue.back();
    queue.pop_back();
    if (cut.processes.contains(pid)) continue;
    AskOne(pid, cut);
    if (outside_.IsDead()) return std::nullopt;
    const Diary* const diary = cut.DiaryOf(pid);
    if (diary == nullptr) continue;
    for (const Entry& entry : diary->entries) {
      if (entry.kind == Entry::kSpawned || entry.kind == Entry::kSent) {
        queue.push_back(entry.peer);
      }
    }
  }
  return cut;
}

std::optional<uint64_t> Rest::Check() {
  constexpr int kMostLooks = 40;
  for (int look = 0; !outside_.IsDead(); ++look) {
    outside_.schedule.SleepFor(20'000'000 << std::min(look, 4), /*busy=*/false);
    const std::optional<Cut> cut = Ask();
    if (!cut) return std::nullopt;
    const std::optional<std::string> unrest = outside_.FindUnrest(*cut);
    if (look == kMostLooks) {
      outside_.Broken(unrest.value_or("it does not come to rest"));
    }
    if (unrest) continue;
    // They were asked one after the other.
    const std::optional<Cut> again = Ask();
    if (!again) return std::nullopt;
    if (!(*again == *cut) || again->processes.size() < outside_.known.size()) {
      continue;
    }
    outside_.CheckCut(*cut);
    outside_.CheckVersions(*cut);
    uint64_t entries = 0;
    for (const auto& [pid, process] : cut->processes) {
      if (process.diary) entries += process.diary->entries.size();
    }
    return entries;
  }
  return std::nullopt;
}

}  // namespace actord::sim
