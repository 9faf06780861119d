// The limits that may change while a runtime runs: as plain values, and as what
// its parts read.
// performance-notes: Rare code moved out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "runtime/process/counters.h"

namespace actord::runtime {

// Reaching one is answered as its comment says.
struct Limits {
  size_t max_processes = 4'000'000;    // 1 to 2^28; Submit: PROCESS_LIMIT
  size_t max_payload_bytes = 1 << 20;  // 1 to 64 MiB; PAYLOAD_TOO_LARGE
  size_t max_mailbox_messages =
      65536;  // 1 to 900,000; Send: MAILBOX_FULL, step's send: dead letter
  size_t max_mailbox_bytes =
      16 << 20;  // 4 KiB to 1 GiB, counted in buffers of 64 bytes; likewise.
  // Completions may take as much again; then CompleteYield: MAILBOX_FULL, and
  // what handlers complete becomes RESOURCE_EXHAUSTED.
  size_t max_yields =
      1024;  // outstanding a process, 1 to 16,000; the yield completes with
  // RESOURCE_EXHAUSTED

  // Of all external yields that wait, 4 KiB to 1 TiB; one above completes with
  // RESOURCE_EXHAUSTED.
  size_t max_external_yield_bytes = 256 << 20;
  absl::Duration default_yield_timeout = absl::InfiniteDuration();
  absl::Duration answered_yield_ttl = absl::Minutes(
      10);  // how long the answer to an external yield is remembered
  size_t answered_yield_max =
      100'000;  // and how many at most (oldest forgotten first)

  // Results of ended processes for Await.
  absl::Duration result_ttl = absl::Minutes(5);
  size_t result_max_bytes =
      256 << 20;  // all results together (oldest forgotten first)

  // Dead letters: how many are kept, and their memory (oldest forgotten first).
  // 0 of either: none is kept, they are only counted.
  size_t dead_letter_max_count = 10'000;    // 0 to 10,000,000
  size_t dead_letter_max_bytes = 16 << 20;  // 0 to 1 TiB

  // Watches that may be open at a time. Each holds, beside its connection, one
  // response that its client has not read, of about 256 KiB at most.
  size_t max_watches = 1000;  // 1 to 1,000,000

  // Starts and ends for those who watch: how many are kept, and their memory
  // (oldest forgotten first; who has not read them is told), and for how long
  // after the last watch recording goes on.
  size_t watch_max_events = 100'000;                  // 1 to 10,000,000
  size_t watch_max_bytes = 32 << 20;                  // 4 KiB to 1 TiB
  absl::Duration watch_retention = absl::Minutes(5);  // 0: it does not

  // Of one process. One that has not ended with its last step, or in time,
  // fails: EndKind::kLimit.
  uint64_t max_steps = 0;  // 0: as many as it likes
  // Since its Init; for processes that begin from then on. At least 1 ms.
  absl::Duration max_lifetime = absl::InfiniteDuration();
};

class LiveLimits;

// How long a payload may be. Whoever is refused for it is counted.
//
// Thread-safety: a plain value. Ownership: borrows the limits.
class PayloadLimit {
 public:
  // Counts nobody.
  PayloadLimit(size_t max_bytes)  // NOLINT(google-explicit-constructor)
      : max_bytes_(max_bytes) {}
  // As it is now.
  explicit PayloadLimit(const LiveLimits& limits);

  [[nodiscard]] size_t max_bytes() const { return max_bytes_; }
  // Ask once for each payload.
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
// Thread-safety: any thread. Every value is an atomic of its own, written by
// Set, read by whoever is about to admit something, relaxed: nothing is ordered
// by it, and a thread may go by an old value, or by a mixture, for a moment.
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
  // Where max_payload_bytes stands, for whoever reads it at each step. Relaxed.
  [[nodiscard]] const std::atomic<size_t>& max_payload_bytes_place() const {
    return max_payload_bytes_.place();
  }
  [[nodiscard]] size_t max_payload_bytes() const {
    return max_payload_bytes_.Load();
  }
  // Somebody was refused a payload for its length.
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
  // UINT64_MAX: there is none.
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
  // Beside the limit, because whoever checks a payload has nothing else in
  // common. Away from what everybody reads.
  alignas(64) mutable Counter refused_payloads_;
};

}  // namespace actord::runtime
