#include "daemon/access/refusal_log.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

constexpr uint64_t kKindSpaceNs = 60'000'000'000;
// The kinds that have no entry of their own.
constexpr char kOtherKinds[] = "";

}  // namespace

RefusalLog::Spaced& RefusalLog::Find(std::string key, uint64_t now_ns) {
  const auto found = kinds_.find(key);
  if (found != kinds_.end()) return found->second;
  if (kinds_.size() >= kMaxKinds) {
    absl::erase_if(kinds_, [now_ns](const auto& entry) {
      return now_ns >= entry.second.next_ns && entry.second.unsaid == 0;
    });
  }
  if (kinds_.size() >= kMaxKinds) key = kOtherKinds;
  return kinds_[std::move(key)];
}

void RefusalLog::Say(const Kind& kind, std::string_view text) {
  const uint64_t now_ns = clock_.MonotonicNs();
  uint64_t unsaid = 0;
  {
    const absl::MutexLock lock(&mutex_);
    Spaced& spaced =
        Find(absl::StrCat(
                 std::string(kind.token_id), " ", std::string(kind.reason), " ",
                 std::string(kind.method), kind.observed ? " observed" : ""),
             now_ns);
    if (now_ns < spaced.next_ns) {
      ++spaced.unsaid;
      return;
    }
    spaced.next_ns = now_ns + kKindSpaceNs;
    unsaid = std::exchange(spaced.unsaid, 0);
  }
  logger_.Warning(
      unsaid == 0
          ? std::string(text)
          : absl::StrCat(std::string(text), " (and ", unsaid,
                         " more of this kind since the last such line)"),
      {.method = kind.method, .code = kind.reason, .repeated = unsaid});
}

}  // namespace actord::daemon
