#include "tests/sim/store/store_operator.h"

#include <memory>
#include <string>

#include "runtime/process/errors.h"

namespace actord::sim {

using runtime::QuarantineEntry;

namespace {

constexpr size_t kMostProcesses = 1000;

}  // namespace

bool StoreOperator::IsNeeded() const {
  return life_.trouble() != Trouble::kNone ||
         (outside_.has_trouble &&
          !life_.runtime().ListQuarantine({}, 0, 1).entries.empty());
}

void StoreOperator::Act() {
  const uint64_t draw = outside_.Draw(4);
  if (!IsNeeded() || draw == 0) return life_.Upgrade();
  // Sometimes too early: then the processes stay in quarantine.
  if (life_.trouble() == Trouble::kNone || draw == 1) return TryAll(false);
  life_.Mend();
}

void StoreOperator::TryAll(bool waits) {
  const bool is_mended = life_.trouble() == Trouble::kNone;
  const auto page = life_.runtime().ListQuarantine({}, 0, kMostProcesses);
  const auto left = std::make_shared<size_t>(page.entries.size());
  for (const QuarantineEntry& entry : page.entries) {
    outside_.schedule.Trace("try %s again", FormatPid(entry.pid).c_str());
    outside_.HearTry(entry.pid);
    life_.runtime().RetryQuarantine(
        entry.pid, [&outside = outside_, pid = entry.pid, is_mended,
                    left](const absl::Status& status) {
          --*left;
          outside.HearTried(pid);
          if (outside.IsDead() || status.ok()) return;
          const std::string reason = runtime::ReasonOf(status);
          outside.Check(
              !is_mended || reason != runtime::reason::kProcessQuarantined, pid,
              "it stays in quarantine although its code is there");
        });
  }
  const uint64_t until_ns = outside_.schedule.now_ns() + 30'000'000'000;
  while (waits && *left != 0 && !outside_.IsDead()) {
    outside_.Check(outside_.schedule.now_ns() < until_ns,
                   page.entries.front().pid, "its new try has no answer");
    outside_.schedule.SleepFor(1'000'000, /*busy=*/false);
  }
}

void StoreOperator::MendAll() {
  life_.Mend();
  while (!outside_.IsDead() && IsNeeded()) TryAll(/*waits=*/true);
}

}  // namespace actord::sim
