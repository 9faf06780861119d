#include "client/commands/failures/stuck_yields.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/output/message_json.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

// Of waiting yields with equal texts, the reasons are equal, too.
std::string KindOf(const v1::Yield& yield) {
  return absl::StrCat(yield.process_type(), "\n", yield.command(), "\n",
                      yield.has_worker(), "\n", yield.last_error());
}

// "no worker subscribes to it; the last error was: ...".
std::string ReasonOf(const v1::Yield& yield, absl::Time now) {
  std::string why;
  if (yield.has_lease_deadline()) {
    why = absl::StrCat(
        "worker ", yield.worker().empty() ? "without a name" : yield.worker(),
        " holds attempt ", yield.attempts(), ", and its lease ends in ",
        ShortDuration(ToTime(yield.lease_deadline()) - now));
  } else if (!yield.has_worker()) {
    why = "no worker subscribes to it";
  } else {
    why = "workers subscribe to it, and none has taken it";
  }
  if (!yield.last_error().empty()) {
    absl::StrAppend(&why, "; the last error was: ",
                    OneLine(yield.last_error(), kForeignWidth));
  }
  return why;
}

}  // namespace

void StuckYields::Add(const v1::Yield& yield) {
  const absl::Time deadline =
      yield.has_deadline() ? ToTime(yield.deadline()) : absl::InfiniteFuture();
  const bool may_join = joins_ && !yield.has_lease_deadline();
  if (may_join) {
    const auto [found, is_first] = open_.emplace(KindOf(yield), groups_.size());
    if (!is_first) {
      Group& group = groups_[found->second];
      ++group.count;
      group.first_deadline = std::min(group.first_deadline, deadline);
      return;
    }
  }
  groups_.push_back({yield, 1, deadline});
}

void StuckYields::ForEach(
    absl::Time now, const std::function<void(const StuckProcess&)>& use) const {
  for (const Group& group : groups_) use(Describe(group, now));
}

StuckProcess StuckYields::Describe(const Group& group, absl::Time now) {
  const v1::Yield& oldest = group.oldest;
  const absl::Time since = ToTime(oldest.create_time());
  const bool is_one = group.count == 1;
  std::string why = absl::StrCat(
      is_one ? absl::StrCat("waits ", ShortDuration(now - since))
             : absl::StrCat(WithThousands(group.count), " processes wait"),
      " for ", OneLine(oldest.command(), kForeignWidth), "; ",
      ReasonOf(oldest, now));
  if (group.first_deadline != absl::InfiniteFuture()) {
    absl::StrAppend(
        &why, is_one ? "; it times out in " : "; the first one times out in ",
        ShortDuration(group.first_deadline - now));
  }
  return {.pid = oldest.pid(),
          .process_type = oldest.process_type(),
          .what = "YIELD",
          .since = since,
          .why = std::move(why)};
}

}  // namespace actord::client
