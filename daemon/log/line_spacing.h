// Spaces lines of the log that others can cause at any rate. Each kind of line
// has a token bucket: `burst` lines at once, and one more after each space.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace actord::daemon {

class LineSpacing {
 public:
  static constexpr uint64_t kSpaceNs = 10'000'000'000;
  // Further kinds share one bucket.
  static constexpr size_t kMaxKinds = 64;

  // `burst`: at least 1.
  explicit LineSpacing(uint64_t space_ns = kSpaceNs, uint32_t burst = 1)
      : space_ns_(space_ns), burst_ns_((burst - 1) * space_ns) {}

  // The number of lines of this kind that were held back since the last one;
  // nullopt: this line is held back.
  std::optional<uint64_t> Admit(const std::string& kind, uint64_t now_ns);

 private:
  struct Kind {
    // When the bucket is full again.
    uint64_t full_ns = 0;
    uint64_t held_back = 0;
  };

  const uint64_t space_ns_;
  const uint64_t burst_ns_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Kind> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
