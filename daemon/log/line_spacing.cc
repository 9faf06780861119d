#include "daemon/log/line_spacing.h"

#include <utility>

namespace actord::daemon {

std::optional<uint64_t> LineSpacing::Admit(const std::string& kind,
                                           uint64_t now_ns) {
  const absl::MutexLock lock(&mutex_);
  const bool is_new = !kinds_.contains(kind);
  Kind& one = kinds_[is_new && kinds_.size() >= kMaxKinds ? "" : kind];
  if (now_ns < one.next_ns) {
    ++one.held_back;
    return std::nullopt;
  }
  one.next_ns = now_ns + kSpaceNs;
  return std::exchange(one.held_back, 0);
}

}  // namespace actord::daemon
