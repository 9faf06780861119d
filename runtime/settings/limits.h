// The limits that may change while a runtime runs: as plain values (Limits),
// and as the atomics that the runtime reads (LiveLimits).
// performance-notes: Rare code moved out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "runtime/counters/counters.h"

namespace actord::runtime {

// Each comment gives the range and what happens above the limit.
struct Limits {
  // 1 to 2^28. Submit fails with PROCESS_LIMIT.
  size_t max_processes = 4'000'000;
  // 1 to 64 MiB. PAYLOAD_TOO_LARGE.
  size_t max_payload_bytes = 1 << 20;
  // 1 to 900,000. Send fails with MAILBOX_FULL; the send of a step becomes a
  // dead letter.
  size_t max_mailbox_messages = 65536;
  // 4 KiB to 1 GiB, counted in buffers of 64 bytes. Messages as above.
  // Completions may take as much again. Above that, CompleteYield fails with
  // MAILBOX_FULL, and a handler's completion becomes RESOURCE_EXHAUSTED.
  size_t max_mailbox_bytes = 16 << 20;
  // Outstanding yields of a process, 1 to 16,000. A further yield completes
  // with RESOURCE_EXHAUSTED.
  size_t max_yields = 1024;

  // All waiting external yields together, 4 KiB to 1 TiB. A further yield
  // completes with RESOURCE_EXHAUSTED.
  size_t max_external_yield_bytes = 256 << 20;
  absl::Duration default_yield_timeout = absl::InfiniteDuration();
  // How long the answer to an external yield is remembered.
  absl::Duration answered_yield_ttl = absl::Minutes(10);
  // Number of remembered answers; the oldest are dropped first.
  size_t answered_yield_max = 100'000;

  // Results of ended processes for Await.
  absl::Duration result_ttl = absl::Minutes(5);
  // All results together; the oldest are dropped first.
  size_t result_max_bytes = 256 << 20;

  // Number and memory of kept dead letters; the oldest are dropped first. If
  // one of them is 0, dead letters are only counted.
  size_t dead_letter_max_count = 10'000;    // 0 to 10,000,000
  size_t dead_letter_max_bytes = 16 << 20;  // 0 to 1 TiB

  // Open watches. Each watch holds, beside its connection, one response that
  // its client has not read, of about 256 KiB at most.
  size_t max_watches = 1000;  // 1 to 1,000,000

  // Number and memory of the starts and ends that are kept for watches. The
  // oldest are dropped first, and a watch that had not read them is notified.
  size_t watch_max_events = 100'000;  // 1 to 10,000,000
  size_t watch_max_bytes = 32 << 20;  // 4 KiB to 1 TiB
  // How long recording continues after the last watch; 0: not at all.
  absl::Duration watch_retention = absl::Minutes(5);

  // Limits of one process. A process that exceeds one of them fails with
  // EndKind::kLimit.
  uint64_t max_steps = 0;  // 0: no limit
  // Counted from Init. A change applies to processes that start afterwards. At
  // least 1 ms.
  absl::Duration max_lifetime = absl::InfiniteDuration();
};

class LiveLimits;

// The limit on the size of a payload. A refused payload is counted.
//
// Thread-safety: a plain value. Ownership: borrows the limits.
class PayloadLimit {
 public:
  // A fixed limit, which counts no refusals.
  PayloadLimit(size_t max_bytes)  // NOLINT(google-explicit-constructor)
      : max_bytes_(max_bytes) {}
  // The current value of the limit, with refusals counted in `limits`.
  explicit PayloadLimit(const LiveLimits& limits);

  [[nodiscard]] size_t max_bytes() const { return max_bytes_; }
  // Call it once for each payload.
  [[nodiscard]] bool Refuses(size_t bytes) const {
    if (bytes <= max_bytes_) [[likely]]
      return false;
    Count();
    return true;
  }

 private:
  void Count() const;

  size_t max_bytes_;
  const LiveLimits* limits_ = nullptr;
};

// The limits in force.
//
// Thread-safety: any thread. Every value is an atomic, written by Set and read
// by each admission. Relaxed: the values order nothing, and a thread may see an
// old value, or a mixture of old and new values, for a moment.
class LiveLimits {
 public:
  static constexpr uint64_t kForeverNs =
      uint64_t{std::numeric_limits<int64_t>::max()};

  explicit LiveLimits(const Limits& limits) { Set(limits); }
  LiveLimits(const LiveLimits&) = delete;
  LiveLimits& operator=(const LiveLimits&) = delete;

  void Set(const Limits& limits);
  [[nodiscard]] Limits Get() const;

  [[nodiscard]] size_t max_processes() const { return max_processes_.Load(); }
  // The address of max_payload_bytes, for a reader in each step. Read relaxed.
  [[nodiscard]] const std::atomic<size_t>& max_payload_bytes_place() const {
    return max_payload_bytes_.place();
  }
  [[nodiscard]] size_t max_payload_bytes() const {
    return max_payload_bytes_.Load();
  }
  // Counts a payload that was refused for its size.
  void CountRefusedPayload() const { refused_payloads_.AddShared(); }
  [[nodiscard]] uint64_t refused_payloads() const {
    return refused_payloads_.Get();
  }
  [[nodiscard]] size_t max_mailbox_messages() const {
    return max_mailbox_messages_.Load();
  }
  [[nodiscard]] size_t max_mailbox_bytes() const {
    return max_mailbox_bytes_.Load();
  }
  [[nodiscard]] size_t max_yields() const { return max_yields_.Load(); }
  [[nodiscard]] size_t max_external_yield_bytes() const {
    return max_external_yield_bytes_.Load();
  }
  // Durations: kForeverNs is infinite.
  [[nodiscard]] uint64_t default_yield_timeout_ns() const {
    return default_yield_timeout_ns_.Load();
  }
  [[nodiscard]] uint64_t answered_yield_ttl_ns() const {
    return answered_yield_ttl_ns_.Load();
  }
  [[nodiscard]] size_t answered_yield_max() const {
    return answered_yield_max_.Load();
  }
  [[nodiscard]] uint64_t result_ttl_ns() const { return result_ttl_ns_.Load(); }
  [[nodiscard]] size_t result_max_bytes() const {
    return result_max_bytes_.Load();
  }
  [[nodiscard]] size_t dead_letter_max_count() const {
    return dead_letter_max_count_.Load();
  }
  [[nodiscard]] size_t dead_letter_max_bytes() const {
    return dead_letter_max_bytes_.Load();
  }
  [[nodiscard]] size_t max_watches() const { return max_watches_.Load(); }
  [[nodiscard]] size_t watch_max_events() const {
    return watch_max_events_.Load();
  }
  [[nodiscard]] size_t watch_max_bytes() const {
    return watch_max_bytes_.Load();
  }
  [[nodiscard]] uint64_t watch_retention_ns() const {
    return watch_retention_ns_.Load();
  }
  // UINT64_MAX: no limit.
  [[nodiscard]] uint64_t max_steps() const { return max_steps_.Load(); }
  [[nodiscard]] uint64_t max_lifetime_ns() const {
    return max_lifetime_ns_.Load();
  }

 private:
  template <typename T>
  class Value {
   public:
    [[nodiscard]] T Load() const {
      return value_.load(std::memory_order_relaxed);
    }
    void Store(T value) { value_.store(value, std::memory_order_relaxed); }
    [[nodiscard]] const std::atomic<T>& place() const { return value_; }

   private:
    std::atomic<T> value_{};
  };

  Value<size_t> max_processes_;
  Value<size_t> max_payload_bytes_;
  Value<size_t> max_mailbox_messages_;
  Value<size_t> max_mailbox_bytes_;
  Value<size_t> max_yields_;
  Value<size_t> max_external_yield_bytes_;
  Value<uint64_t> default_yield_timeout_ns_;
  Value<uint64_t> answered_yield_ttl_ns_;
  Value<size_t> answered_yield_max_;
  Value<uint64_t> result_ttl_ns_;
  Value<size_t> result_max_bytes_;
  Value<size_t> dead_letter_max_count_;
  Value<size_t> dead_letter_max_bytes_;
  Value<size_t> max_watches_;
  Value<size_t> watch_max_events_;
  Value<size_t> watch_max_bytes_;
  Value<uint64_t> watch_retention_ns_;
  Value<uint64_t> max_steps_;
  Value<uint64_t> max_lifetime_ns_;
  // Stored beside the limit, because the checks of payloads share nothing else.
  // In another cache line than the values that every thread reads.
  alignas(64) mutable Counter refused_payloads_;
};

}  // namespace actord::runtime
