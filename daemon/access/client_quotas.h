// The quotas of clients: how many requests and bytes a second, and how many
// open streams and connections, one client may have. A client is the name of
// its tokens, so all tokens of one name share its quotas. Each client has the
// whole of each quota, or quotas of its own.
//
// While no client has quotas, a call pays one test of a null pointer. Nobody
// (owner.h) has none: the local administrator must be able to repair the damage
// of a flood.
//
// Bounds: one ClientQuota for each owner, of which there are at most
// Owners::kMax. Reading and spending is lock-free (gcra.h).
//
// Thread-safety: any thread; Set is for one thread at a time. Ownership: a
// ClientQuota lives as long as its ClientQuotas.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/access/gcra.h"
#include "daemon/counters/stats.h"
#include "daemon/settings/config.h"
#include "runtime/process/owner.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

// Data that all clients share.
struct QuotaTotals {
  explicit QuotaTotals(const runtime::Clock& time) : clock(time) {}

  const runtime::Clock& clock;
  // The number of Sets.
  std::atomic<uint64_t> epoch{0};
  // Counters: refused calls, streams and connections; delayed reads.
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> delayed{0};
};

// One client. Aligned to a cache line, so that clients do not slow each other.
class alignas(64) ClientQuota {
 public:
  // Without limits so far.
  explicit ClientQuota(QuotaTotals& totals) : totals_(totals) {}

  // Spends a call that counts as `requests` requests and has `bytes` bytes.
  // RESOURCE_EXHAUSTED (CLIENT_QUOTA) with the exact delay, after which both
  // quotas admit the call; then nothing is spent, and the refusal is counted.
  [[nodiscard]] absl::Status Take(uint64_t requests, size_t bytes);

  // The same for bytes that a stream has already read, which cannot be refused.
  void Charge(uint64_t requests, size_t bytes);
  // The time until which a stream must not read. Each delay is counted.
  struct Pause {
    uint64_t until_ns = 0;  // on the clock of the daemon
    uint64_t epoch = 0;
  };
  [[nodiscard]] Pause BeginPause();
  // The rest of the pause; zero: it is over, or the quotas have changed.
  [[nodiscard]] absl::Duration Left(const Pause& pause) const;

  // Counts one more open stream. RESOURCE_EXHAUSTED (CLIENT_QUOTA): there are
  // as many as the quota permits; the refusal is counted.
  [[nodiscard]] absl::Status TakeStream();
  // Counts a stream that is already open, regardless of the quota.
  void CountStream() { streams_.fetch_add(1, std::memory_order_relaxed); }
  void GiveStream() { streams_.fetch_sub(1, std::memory_order_relaxed); }

  // Maximum number of open connections; 0: no limit.
  [[nodiscard]] size_t max_connections() const {
    return max_connections_.load(std::memory_order_relaxed);
  }
  // RESOURCE_EXHAUSTED (CLIENT_QUOTA) for a call of a connection above that;
  // the refusal is counted.
  [[nodiscard]] absl::Status ConnectionRefused();

 private:
  friend class ClientQuotas;

  // Also forgets the spent amount, because it is a time computed with the
  // former rate.
  void SetLimits(const QuotaSettings& settings);

  QuotaTotals& totals_;
  // Written by SetLimits. Relaxed: during a Set a call may be judged by a
  // mixture of the former and the new numbers. 0: there is no such quota.
  std::atomic<uint64_t> requests_per_second_{0};
  std::atomic<uint64_t> requests_burst_ns_{0};
  std::atomic<uint64_t> bytes_per_second_{0};
  std::atomic<uint64_t> bytes_burst_ns_{0};
  std::atomic<size_t> max_streams_{0};
  std::atomic<size_t> max_connections_{0};
  Gcra requests_;
  Gcra bytes_;
  // Open streams. A refused stream never raises it above the quota, because it
  // could cause the refusal of another stream.
  std::atomic<size_t> streams_{0};
};

// The place of one open stream in the quota of its client, given back at the
// end of the object. Borrows the ClientQuota.
class StreamSlot {
 public:
  // No quota counts the stream.
  StreamSlot() = default;
  // Takes over a place that TakeStream has counted.
  explicit StreamSlot(ClientQuota* quota) : quota_(quota) {}
  ~StreamSlot() { Release(); }
  StreamSlot(StreamSlot&& other) noexcept
      : quota_(std::exchange(other.quota_, nullptr)) {}
  StreamSlot& operator=(StreamSlot&& other) noexcept {
    if (this != &other) {
      Release();
      quota_ = std::exchange(other.quota_, nullptr);
    }
    return *this;
  }

  [[nodiscard]] bool is_taken() const { return quota_ != nullptr; }
  void Release() {
    if (quota_ != nullptr) std::exchange(quota_, nullptr)->GiveStream();
  }

 private:
  ClientQuota* quota_ = nullptr;
};

class ClientQuotas {
 public:
  // The owners with quotas of their own.
  using Own = absl::flat_hash_map<runtime::Owner, QuotaSettings>;

  ClientQuotas(const QuotaSettings& settings, const runtime::Clock& clock)
      : totals_(clock) {
    Set(settings);
  }
  ClientQuotas(const ClientQuotas&) = delete;
  ClientQuotas& operator=(const ClientQuotas&) = delete;

  // Puts `settings` in force, and `own` for its owners. If the quotas have
  // changed, all clients begin anew, with nothing spent; open streams stay
  // counted.
  void Set(const QuotaSettings& settings, Own own = {});
  [[nodiscard]] QuotaSettings settings() const;
  // The largest quota of each kind that a client has; 0: no client has one.
  [[nodiscard]] QuotaSettings Any() const;

  // Whether any client has a quota.
  [[nodiscard]] bool AreAnySet() const {
    return any_.load(std::memory_order_relaxed);
  }
  // The quotas of a client; null: none is in force, or the owner is kNobody.
  [[nodiscard]] ClientQuota* Of(runtime::Owner owner) {
    return AreAnySet() && owner != runtime::Owner::kNobody ? &PlaceOf(owner)
                                                           : nullptr;
  }
  // The quotas of a client, also while none is in force. Takes a mutex.
  // Precondition: the owner is not kNobody.
  [[nodiscard]] ClientQuota& PlaceOf(runtime::Owner owner);

  void WriteStats(DaemonStats& stats) const;

 private:
  [[nodiscard]] const QuotaSettings& SettingsOf(runtime::Owner owner) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  QuotaTotals totals_;
  // Whether any quota is set. Written by Set. Relaxed: during a Set a call may
  // have no quota yet.
  std::atomic<bool> any_{false};
  mutable absl::Mutex mutex_;
  QuotaSettings settings_ ABSL_GUARDED_BY(mutex_);
  Own own_ ABSL_GUARDED_BY(mutex_);
  // By the number of the owner; null: the owner has not called yet.
  std::vector<std::unique_ptr<ClientQuota>> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
