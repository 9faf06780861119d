// A clock that moves when told to.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>

#include "absl/time/time.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class FakeClock final : public runtime::Clock {
 public:
  [[nodiscard]] uint64_t MonotonicNs() const override { return now_ns_.load(); }
  [[nodiscard]] uint64_t UnixNs() const override { return now_ns_.load(); }

  void Advance(absl::Duration by) {
    now_ns_.fetch_add(static_cast<uint64_t>(absl::ToInt64Nanoseconds(by)));
  }

 private:
  std::atomic<uint64_t> now_ns_{1'000'000'000};
};

}  // namespace actord::daemon
