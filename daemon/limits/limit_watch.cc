#include "daemon/limits/limit_watch.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace actord::daemon {

LimitWatch::LimitWatch(Parts parts, Logger& logger, const runtime::Clock& clock)
    : parts_(std::move(parts)), logger_(logger), clock_(clock) {}

absl::Status LimitWatch::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that watches the limits: ", error.what()));
  }
}

void LimitWatch::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
}

void LimitWatch::Run() {
  pthread_setname_np(pthread_self(), "limits");
  while (!stopping_.load(std::memory_order_relaxed)) {
    Look();
    parker_.Wait(kLookNs);
  }
}

void LimitWatch::Look() {
  const std::vector<LimitUse> uses = parts_.read();
  Measure();
  const absl::MutexLock lock(&mutex_);
  seen_.resize(uses.size());
  for (size_t i = 0; i < uses.size(); ++i) Look(uses[i], seen_[i]);
}

void LimitWatch::Measure() {
  const uint64_t cpu_ns = parts_.own().cpu_ns;
  const uint64_t now_ns = clock_.MonotonicNs();
  const absl::MutexLock lock(&mutex_);
  if (measured_ns_ != 0 && now_ns > measured_ns_ &&
      cpu_ns >= measured_cpu_ns_) {
    cpu_busy_ = static_cast<double>(cpu_ns - measured_cpu_ns_) /
                static_cast<double>(now_ns - measured_ns_);
  }
  measured_ns_ = now_ns;
  measured_cpu_ns_ = cpu_ns;
}

void LimitWatch::Look(const LimitUse& use, Seen& seen) {
  const uint64_t now_ns = clock_.MonotonicNs();
  const bool is_hit = use.is_full || use.refused > seen.refused;
  const uint64_t refused_before = std::exchange(seen.refused, use.refused);
  const LimitRow& row = *use.row;
  if (is_hit) {
    seen.last_hit_ns = now_ns;
    if (seen.full_since_unix_ns != 0) return;
    seen.full_since_unix_ns = clock_.UnixNs();
    seen.full_since_ns = now_ns;
    seen.refused_before = refused_before;
    if (row.is_logged_elsewhere) return;
    logger_.Warning(absl::StrCat(
        "the limit of ", LimitUseName(use), " is reached: ", LimitUseText(use),
        "; ", AtLimitText(use), row.is_fixed ? "; " : ". ", RemedyText(use)));
    return;
  }
  if (seen.full_since_unix_ns == 0 || now_ns - seen.last_hit_ns < kCalmNs) {
    return;
  }
  seen.full_since_unix_ns = 0;
  if (row.is_logged_elsewhere) return;
  const absl::Duration reached =
      absl::Nanoseconds(seen.last_hit_ns - seen.full_since_ns);
  logger_.Info(absl::StrCat(
      "the limit of ", LimitUseName(use),
      " is no longer reached: ", LimitUseText(use), "; it had refused ",
      use.refused - seen.refused_before, " ", row.unit, " in ",
      absl::FormatDuration(absl::Trunc(reached, absl::Seconds(1)))));
}

LimitWatch::State LimitWatch::Now() const {
  State state;
  state.own = parts_.own();
  std::vector<LimitUse> uses = parts_.read();
  const absl::MutexLock lock(&mutex_);
  state.cpu_busy = cpu_busy_;
  for (size_t i = 0; i < uses.size(); ++i) {
    Limit limit{.use = std::move(uses[i])};
    if (i < seen_.size()) {
      limit.full_since_unix_ns = seen_[i].full_since_unix_ns;
    }
    state.limits.push_back(std::move(limit));
  }
  return state;
}

std::vector<std::string> LimitWatch::Notes() const {
  std::vector<std::string> notes;
  for (const Limit& limit : Now().limits) {
    if (limit.full_since_unix_ns == 0 || limit.use.row->has_own_note) continue;
    notes.push_back(absl::StrCat("the limit of ", LimitUseName(limit.use),
                                 " is reached: ", LimitUseText(limit.use), "; ",
                                 AtLimitText(limit.use)));
  }
  return notes;
}

}  // namespace actord::daemon
