#include "daemon/log/line_spacing.h"

#include <algorithm>
#include <utility>

namespace actord::daemon {

std::optional<uint64_t> LineSpacing::Admit(const std::string& kind,
                                           uint64_t now_ns) {
  const absl::MutexLock lock(&mutex_);
  const bool is_new = !kinds_.contains(kind);
  Kind& one = kinds_[is_new && kinds_.size() >= kMaxKinds ? "" : kind];
  if (one.full_ns > now_ns + burst_ns_) {
    ++one.held_back;
    return std::nullopt;
  }
  one.full_ns = std::max(one.full_ns, now_ns) + space_ns_;
  return std::exchange(one.held_back, 0);
}

}  // namespace actord::daemon
