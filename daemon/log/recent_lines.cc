#include "daemon/log/recent_lines.h"

#include <algorithm>

namespace actord::daemon {

void RecentLines::Add(uint64_t unix_ns, runtime::LogLevel level,
                      std::string_view text) {
  const absl::MutexLock lock(&mutex_);
  lines_.push_back({++last_, unix_ns, level, std::string(text)});
  bytes_ += text.size();
  while (lines_.size() > kMaxLines || bytes_ > kMaxBytes) {
    bytes_ -= lines_.front().text.size();
    lines_.pop_front();
  }
}

std::vector<RecentLine> RecentLines::ListAfter(uint64_t after,
                                               runtime::LogLevel min_level,
                                               size_t max) const {
  std::vector<RecentLine> found;
  const absl::MutexLock lock(&mutex_);
  auto line = std::upper_bound(lines_.begin(), lines_.end(), after,
                               [](uint64_t number, const RecentLine& one) {
                                 return number < one.number;
                               });
  for (; line != lines_.end() && found.size() < max; ++line) {
    if (line->level >= min_level) found.push_back(*line);
  }
  return found;
}

}  // namespace actord::daemon
