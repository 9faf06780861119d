#include "daemon/access/client_quotas.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "daemon/access/own_quotas.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// The maximum number of bytes whose cost fits into 64 bits: 18 GB.
constexpr uint64_t kMaxCount = std::numeric_limits<uint64_t>::max() / kSecondNs;

// The cost of `count` requests in nanoseconds at the rate. The cost of each
// request is rounded up, so a burst admits exactly its number. 0: there is no
// rate.
uint64_t RequestCostNs(uint64_t count, uint64_t per_second) {
  if (per_second == 0) return 0;
  return std::min(count, kSecondNs) *
         ((kSecondNs + per_second - 1) / per_second);
}

// The cost of `count` bytes in nanoseconds at the rate, rounded up. 0: there is
// no rate.
uint64_t CostNs(uint64_t count, uint64_t per_second) {
  if (per_second == 0) return 0;
  const uint64_t product = std::min(count, kMaxCount) * kSecondNs;
  const uint64_t cost = product / per_second + (product % per_second != 0);
  return std::min(cost, Gcra::kMaxNs);
}

// The same for a burst of bytes, which may be any number; 0: that of one
// second.
uint64_t BurstNs(uint64_t burst, uint64_t per_second) {
  if (per_second == 0) return 0;
  if (burst == 0) return kSecondNs;
  const absl::uint128 product = absl::uint128(burst) * kSecondNs;
  const absl::uint128 ns = (product + per_second - 1) / per_second;
  return absl::Uint128Low64(std::min(ns, absl::uint128(Gcra::kMaxNs)));
}

absl::Status Exceeded(std::string_view quota, uint64_t limit,
                      std::string_view unit, uint64_t delay_ns) {
  return runtime::QuotaExceeded(
      absl::StrCat("the client is above its quota of ", limit, " ",
                   std::string(unit), " (quotas.", std::string(quota), ")"),
      quota, limit, absl::Nanoseconds(delay_ns));
}

}  // namespace

absl::Status ClientQuota::Take(uint64_t requests, size_t bytes) {
  const uint64_t now = totals_.clock.MonotonicNs();
  const auto relaxed = std::memory_order_relaxed;
  const uint64_t request_rate = requests_per_second_.load(relaxed);
  const uint64_t byte_rate = bytes_per_second_.load(relaxed);
  const uint64_t byte_burst = bytes_burst_ns_.load(relaxed);
  const uint64_t request_cost = RequestCostNs(requests, request_rate);
  const uint64_t byte_cost = CostNs(bytes, byte_rate);
  uint64_t request_delay = 0;
  if (request_cost != 0) {
    request_delay =
        requests_.Take(request_cost, requests_burst_ns_.load(relaxed), now);
  }
  uint64_t byte_delay = 0;
  if (byte_cost != 0) {
    byte_delay = request_delay == 0 ? bytes_.Take(byte_cost, byte_burst, now)
                                    : bytes_.Delay(byte_cost, byte_burst, now);
  }
  if (request_delay == 0 && byte_delay == 0) return absl::OkStatus();
  if (request_delay == 0) requests_.GiveBack(request_cost);
  totals_.refused.fetch_add(1, relaxed);
  return request_delay >= byte_delay
             ? Exceeded("requests_per_second", request_rate,
                        "requests a second", request_delay)
             : Exceeded("bytes_per_second", byte_rate, "bytes a second",
                        byte_delay);
}

void ClientQuota::Charge(uint64_t requests, size_t bytes) {
  const uint64_t now = totals_.clock.MonotonicNs();
  const auto relaxed = std::memory_order_relaxed;
  const uint64_t request_cost =
      RequestCostNs(requests, requests_per_second_.load(relaxed));
  const uint64_t byte_cost = CostNs(bytes, bytes_per_second_.load(relaxed));
  if (request_cost != 0) requests_.Charge(request_cost, now);
  if (byte_cost != 0) bytes_.Charge(byte_cost, now);
}

ClientQuota::Pause ClientQuota::BeginPause() {
  const uint64_t now = totals_.clock.MonotonicNs();
  const auto relaxed = std::memory_order_relaxed;
  Pause pause{.until_ns = now, .epoch = totals_.epoch.load(relaxed)};
  // The cost of a read is not known yet, so the read may go up to the burst; it
  // is charged afterwards.
  if (requests_per_second_.load(relaxed) != 0) {
    pause.until_ns += requests_.Delay(0, requests_burst_ns_.load(relaxed), now);
  }
  if (bytes_per_second_.load(relaxed) != 0) {
    pause.until_ns =
        std::max(pause.until_ns,
                 now + bytes_.Delay(0, bytes_burst_ns_.load(relaxed), now));
  }
  if (pause.until_ns != now) totals_.delayed.fetch_add(1, relaxed);
  return pause;
}

absl::Duration ClientQuota::Left(const Pause& pause) const {
  const uint64_t now = totals_.clock.MonotonicNs();
  if (now >= pause.until_ns ||
      pause.epoch != totals_.epoch.load(std::memory_order_relaxed)) {
    return absl::ZeroDuration();
  }
  return absl::Nanoseconds(pause.until_ns - now);
}

absl::Status ClientQuota::TakeStream() {
  const size_t max = max_streams_.load(std::memory_order_relaxed);
  // Relaxed: no other data depends on the count.
  size_t open = streams_.load(std::memory_order_relaxed);
  do {
    if (max != 0 && open >= max) {
      totals_.refused.fetch_add(1, std::memory_order_relaxed);
      return Exceeded("streams", max, "open streams", kSecondNs);
    }
  } while (!streams_.compare_exchange_weak(open, open + 1,
                                           std::memory_order_relaxed));
  return absl::OkStatus();
}

absl::Status ClientQuota::ConnectionRefused() {
  totals_.refused.fetch_add(1, std::memory_order_relaxed);
  return Exceeded("connections", max_connections(), "open connections",
                  kSecondNs);
}

void ClientQuota::SetLimits(const QuotaSettings& settings) {
  const auto relaxed = std::memory_order_relaxed;
  requests_per_second_.store(settings.requests_per_second, relaxed);
  requests_burst_ns_.store(
      RequestCostNs(settings.request_burst == 0 ? settings.requests_per_second
                                                : settings.request_burst,
                    settings.requests_per_second),
      relaxed);
  bytes_per_second_.store(settings.bytes_per_second, relaxed);
  bytes_burst_ns_.store(
      BurstNs(settings.bytes_burst, settings.bytes_per_second), relaxed);
  max_streams_.store(settings.streams, relaxed);
  max_connections_.store(settings.connections, relaxed);
  requests_.Forget();
  bytes_.Forget();
}

void ClientQuotas::Set(const QuotaSettings& settings, Own own) {
  const absl::MutexLock lock(&mutex_);
  if (settings == settings_ && own == own_) return;
  settings_ = settings;
  own_ = std::move(own);
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i] != nullptr) {
      clients_[i]->SetLimits(SettingsOf(static_cast<runtime::Owner>(i)));
    }
  }
  totals_.epoch.fetch_add(1, std::memory_order_relaxed);
  bool any = settings_.LimitsCalls();
  for (const auto& [owner, quotas] : own_) any |= quotas.LimitsCalls();
  any_.store(any, std::memory_order_relaxed);
}

const QuotaSettings& ClientQuotas::SettingsOf(runtime::Owner owner) const {
  const auto own = own_.find(owner);
  return own == own_.end() ? settings_ : own->second;
}

QuotaSettings ClientQuotas::settings() const {
  const absl::MutexLock lock(&mutex_);
  return settings_;
}

QuotaSettings ClientQuotas::Any() const {
  const absl::MutexLock lock(&mutex_);
  QuotaSettings any = settings_;
  for (const auto& [owner, own] : own_) any = Largest(any, own);
  return any;
}

ClientQuota& ClientQuotas::PlaceOf(runtime::Owner owner) {
  ACTORD_ASSERT(owner != runtime::Owner::kNobody,
                "client_quotas.h: the owner is not kNobody");
  const auto number = static_cast<size_t>(owner);
  const absl::MutexLock lock(&mutex_);
  if (clients_.size() <= number) clients_.resize(number + 1);
  std::unique_ptr<ClientQuota>& client = clients_[number];
  if (client == nullptr) {
    client = std::make_unique<ClientQuota>(totals_);
    client->SetLimits(SettingsOf(owner));
  }
  return *client;
}

void ClientQuotas::WriteStats(DaemonStats& stats) const {
  stats.client_quota_limit = totals_.refused.load(std::memory_order_relaxed);
  stats.client_quota_delays = totals_.delayed.load(std::memory_order_relaxed);
}

}  // namespace actord::daemon
