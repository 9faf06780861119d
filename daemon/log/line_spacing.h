// Spaces lines of the log that strangers can cause at any rate: of each kind,
// one line in ten seconds.
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
  // Further kinds share one space.
  static constexpr size_t kMaxKinds = 64;

  // The number of lines of this kind that were held back since the last one;
  // nullopt: this line is held back.
  std::optional<uint64_t> Admit(const std::string& kind, uint64_t now_ns);

 private:
  struct Kind {
    uint64_t next_ns = 0;
    uint64_t held_back = 0;
  };

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Kind> kinds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
