// The newest lines of the log, in memory, so that an operator can read them
// without the machine's log.
//
// Bounds: kMaxLines lines, and kMaxBytes of their texts; the oldest lines are
// dropped first.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/settings/options.h"

namespace actord::daemon {

struct RecentLine {
  // 1 for the first line of this run, and one more for each further line.
  uint64_t number = 0;
  uint64_t unix_ns = 0;
  runtime::LogLevel level = runtime::LogLevel::kInfo;
  std::string text;
};

class RecentLines {
 public:
  static constexpr size_t kMaxLines = 2000;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  void Add(uint64_t unix_ns, runtime::LogLevel level, std::string_view text);

  // The kept lines after the line `after` whose level is at least `min_level`,
  // the oldest first; `max` at most.
  [[nodiscard]] std::vector<RecentLine> ListAfter(uint64_t after,
                                                  runtime::LogLevel min_level,
                                                  size_t max) const;

 private:
  mutable absl::Mutex mutex_;
  // Their numbers follow each other without a gap.
  std::deque<RecentLine> lines_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::daemon
