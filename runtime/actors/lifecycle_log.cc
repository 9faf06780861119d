#include "runtime/actors/lifecycle_log.h"

#include <actord/text.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

absl::Status TooMany(std::string_view message) {
  return Retryable(absl::StatusCode::kResourceExhausted, reason::kWatchLimit,
                   message, absl::Seconds(1));
}

bool IsFor(const ProcessFilter& filter, const LifecycleEvent& event) {
  return Sees(filter.by, event.owner) &&
         (filter.process_type.empty() ||
          filter.process_type == event.process_type) &&
         (filter.parent.empty() || filter.parent == event.parent) &&
         Match(filter.labels, event.labels);
}

}  // namespace

LifecycleLog::LifecycleLog(const LiveLimits& limits, const Clock& clock,
                           const LabelTable* labels)
    : limits_(limits), clock_(clock), labels_(labels) {}

LifecycleLog::~LifecycleLog() {
  SystemThread thread;
  {
    const MutexLock lock(mutex_);
    ACTORD_ASSERT(readers_.empty(), "lifecycle_log.h: no reader is open");
    stopping_ = true;
    thread = std::move(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

// Recording.

void LifecycleLog::Started(const Process& process, const Pid& pid) {
  ACTORD_ASSERT((process.generation.load() & 1) != 0,
                "lifecycle_log.h (1): a start is visible before its event");
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const uint16_t method = process.method.load(std::memory_order_relaxed);
  LifecycleEvent event;
  event.kind = LifecycleEvent::Kind::kStarted;
  event.pid = pid;
  event.parent = process.parent.Load();
  event.owner = process.owner.load(std::memory_order_relaxed);
  event.process_type = type.name;
  event.started_unix_ns =
      process.started_unix_ns.load(std::memory_order_relaxed);
  if (labels_ != nullptr) event.labels = labels_->Of(process, pid);
  event.method = type.descriptor->methods[method].name;
  event.priority = process.Priority();
  Append(std::move(event));
}

void LifecycleLog::Ended(const Process& process, const Pid& pid,
                         const Outcome& outcome) {
  ACTORD_ASSERT((process.generation.load() & 1) == 0,
                "lifecycle_log.h (1): an end is visible before its event");
  LifecycleEvent event;
  event.kind = LifecycleEvent::Kind::kEnded;
  event.pid = pid;
  event.parent = process.parent.Load();
  event.owner = process.owner.load(std::memory_order_relaxed);
  // Null: the process was spawned with an unknown type.
  if (const ProcessType* type = process.type.load(std::memory_order_relaxed)) {
    event.process_type = type->name;
  }
  event.labels = outcome.labels();
  event.started_unix_ns = outcome.started_unix_ns;
  event.end = outcome.kind;
  event.code = outcome.code;
  event.message = CutUtf8(outcome.message, kMaxMessageBytes);
  event.steps = outcome.steps;
  event.ended_unix_ns = outcome.ended_unix_ns;
  Append(std::move(event));
}

size_t LifecycleLog::ChargeOf(const LifecycleEvent& event) {
  return sizeof(LifecycleEvent) + event.process_type.size() +
         event.method.size() + event.message.size() +
         (event.labels == nullptr ? 0 : event.labels->ChargeBytes());
}

void LifecycleLog::Append(LifecycleEvent event) {
  const MutexLock lock(mutex_);
  // Recording was switched off meanwhile, or should be.
  if (!recording_.load(std::memory_order_relaxed)) return;
  if (readers_.empty() && IsStale()) {
    StopRecording();
    return;
  }
  bytes_ += ChargeOf(event);
  events_.push_back(std::move(event));
  ++recorded_;
  Forget(kForgottenAtOnce);
  if (some_wait_ && !wakes_) {
    wakes_ = true;
    changed_.notify_one();
  }
}

bool LifecycleLog::Forget(size_t max_forgotten) {
  const size_t max_events = limits_.watch_max_events();
  const size_t max_bytes = limits_.watch_max_bytes();
  while (!events_.empty() &&
         (events_.size() > max_events || bytes_ > max_bytes)) {
    if (max_forgotten-- == 0) return false;
    bytes_ -= ChargeOf(events_.front());
    events_.pop_front();
    ++first_;
  }
  return true;
}

void LifecycleLog::Trim() {
  for (bool trimmed = false; !trimmed;) {
    const MutexLock lock(mutex_);
    trimmed = Forget(kForgottenAtOnce);
    // With the new limits it may be time to stop recording, which the thread
    // checks.
    if (trimmed) changed_.notify_one();
  }
}

bool LifecycleLog::IsStale() const {
  ACTORD_ASSERT(readers_.empty(), "lifecycle_log.h: no reader is open");
  const uint64_t kept_ns = limits_.watch_retention_ns();
  return kept_ns != LiveLimits::kForeverNs &&
         clock_.MonotonicNs() - left_ns_ >= kept_ns;
}

void LifecycleLog::StopRecording() {
  ACTORD_ASSERT(
      readers_.empty(),
      "lifecycle_log.h (2): every event is recorded while a reader is open");
  recording_.store(false, std::memory_order_seq_cst);
  // The previous end of the log must not be a valid cursor for later events.
  first_ = End() + 1;
  bytes_ = 0;
  if (events_.empty()) return;
  discarded_.push_back(std::exchange(events_, {}));
  changed_.notify_one();
}

// Reading.

absl::StatusOr<LifecycleLog::ReaderId> LifecycleLog::Open(
    std::shared_ptr<LifecycleListener> listener) {
  const MutexLock lock(mutex_);
  if (const size_t max = limits_.max_watches(); readers_.size() >= max) {
    ++refused_;
    return TooMany(absl::StrCat("there are ", readers_.size(),
                                " watches; the limit (watch.max_watches) is ",
                                max));
  }
  if (!thread_.joinable()) {
    absl::Status status = StartThread();
    if (!status.ok()) return status;
  }
  readers_[++last_reader_] = {.listener = std::move(listener)};
  if (!recording_.load(std::memory_order_relaxed)) {
    recorded_since_ = first_;
    recording_.store(true, std::memory_order_seq_cst);
  }
  return last_reader_;
}

absl::Status LifecycleLog::StartThread() {
  try {
    thread_ = SystemThread([this] { RunThread(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return TooMany(
        absl::StrCat("there is no thread for watches: ", error.what()));
  }
}

void LifecycleLog::Close(ReaderId reader) {
  // Destroyed after the lock is released.
  Reader closed;
  const MutexLock lock(mutex_);
  const auto it = readers_.find(reader);
  if (it == readers_.end()) return;
  closed = std::move(it->second);
  readers_.erase(it);
  if (!readers_.empty()) return;
  left_ns_ = clock_.MonotonicNs();
  if (IsStale()) StopRecording();
  // The thread checks again when the retention time is over.
  changed_.notify_one();
}

uint64_t LifecycleLog::end() const {
  const MutexLock lock(mutex_);
  return End();
}

bool LifecycleLog::Holds(uint64_t cursor) const {
  const MutexLock lock(mutex_);
  return HoldsLocked(cursor);
}

LifecycleLog::Reading LifecycleLog::Read(ReaderId reader, uint64_t cursor,
                                         const ProcessFilter& filter,
                                         const ReadLimits& limits) {
  Reading reading;
  reading.next = cursor;
  size_t bytes = 0;
  for (size_t looked = 0; looked < kMaxLookedAt; looked += kLookedAtOnce) {
    if (!ReadSome(reader, filter, limits, bytes, reading)) break;
  }
  return reading;
}

bool LifecycleLog::ReadSome(ReaderId reader, const ProcessFilter& filter,
                            const ReadLimits& limits, size_t& bytes,
                            Reading& reading) {
  const MutexLock lock(mutex_);
  if (!HoldsLocked(reading.next)) {
    // The events that were read are returned first; the next Read reports the
    // loss.
    if (!reading.events.empty()) return false;
    reading.lost = true;
    reading.known = reading.next >= recorded_since_ && reading.next < first_;
    reading.oldest = first_;
    reading.end = End();
    return false;
  }
  for (size_t looked = 0; looked < kLookedAtOnce; ++looked) {
    if (reading.next == End()) {
      if (const auto it = readers_.find(reader);
          reading.events.empty() && it != readers_.end()) {
        it->second.waits = some_wait_ = reading.waits = true;
      }
      return false;
    }
    ACTORD_ASSERT(reading.next - first_ < events_.size(),
                  "lifecycle_log.h (3)");
    const LifecycleEvent& event = events_[reading.next - first_];
    if (IsFor(filter, event)) {
      const size_t charge = ChargeOf(event);
      if (!reading.events.empty() && (reading.events.size() >= limits.events ||
                                      bytes + charge > limits.bytes)) {
        return false;
      }
      bytes += charge;
      reading.events.push_back(event);
    }
    ++reading.next;
  }
  return true;
}

void LifecycleLog::CountMissed(uint64_t count) {
  const MutexLock lock(mutex_);
  missed_ += count;
}

void LifecycleLog::AddTo(RuntimeStats& stats) const {
  const MutexLock lock(mutex_);
  stats.watches_open = readers_.size();
  stats.refused_watches = refused_;
  stats.watch_events = recorded_;
  stats.watch_events_missed = missed_;
  stats.watch_events_kept = events_.size();
  stats.watch_events_bytes = bytes_;
}

// Waking.

LifecycleLog::Duty LifecycleLog::AwaitDuty() {
  // Polls, because the clock of a test does not move while this waits.
  constexpr uint64_t kLookAgainNs = 1'000'000'000;
  const MutexLock lock(mutex_);
  while (!stopping_ && !wakes_ && discarded_.empty()) {
    const bool ends = readers_.empty() &&
                      recording_.load(std::memory_order_relaxed) &&
                      limits_.watch_retention_ns() != LiveLimits::kForeverNs;
    if (!ends) {
      changed_.wait(mutex_);
    } else if (IsStale()) {
      StopRecording();
    } else {
      changed_.wait_for(mutex_, std::chrono::nanoseconds(kLookAgainNs));
    }
  }
  Duty duty;
  duty.discarded = std::exchange(discarded_, {});
  duty.stops = stopping_;
  if (!std::exchange(wakes_, false)) return duty;
  for (auto& [id, reader] : readers_) {
    if (!std::exchange(reader.waits, false)) continue;
    duty.woken.push_back(reader.listener);
  }
  some_wait_ = false;
  return duty;
}

void LifecycleLog::RunThread() {
  pthread_setname_np(pthread_self(), "watch");
  for (bool stops = false; !stops;) {
    const Duty duty = AwaitDuty();
    for (const auto& listener : duty.woken) listener->Wake();
    stops = duty.stops;
  }
}

}  // namespace actord::runtime
