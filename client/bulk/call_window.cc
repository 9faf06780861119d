#include "client/bulk/call_window.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/calls/error.h"
#include "client/calls/mutex.h"

namespace actord::client {
class CallWindow::Core : public std::enable_shared_from_this<Core> {
 public:
  struct Entry {
    std::shared_ptr<WindowedCall> call;
    std::string order_key;
    int retries = 0;
    std::unique_ptr<grpc::Alarm> retry_alarm;  // set while the delay runs
  };
  using EntryPtr = std::shared_ptr<Entry>;

  explicit Core(const CallWindowOptions& options) : options_(options) {}

  void Add(EntryPtr entry);
  void CancelAll();
  bool WaitUntilFewerThan(size_t pending, absl::Duration timeout);
  [[nodiscard]] size_t window() const { return options_.window; }

 private:
  void StartWhatFits();
  void StartAttempt(const EntryPtr& entry);
  void AttemptFinished(const EntryPtr& entry, const absl::Status& status);
  // False: the alarm was cancelled, and nothing was scheduled.
  bool RetryAfter(const EntryPtr& entry, absl::Duration delay);
  void DelayOver(const EntryPtr& entry, bool in_time);
  void Finish(const EntryPtr& entry, const absl::Status& status);

  const CallWindowOptions options_;
  // Not held while functions of a call run.
  Mutex mutex_;
  std::condition_variable_any finished_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // Number of calls that were added and are not over.
  size_t pending_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<EntryPtr> ready_ ABSL_GUARDED_BY(mutex_);
  std::unordered_set<EntryPtr> running_ ABSL_GUARDED_BY(mutex_);
  // A key is present while one of its calls is ready or running; its value
  // holds the calls in state "behind".
  std::unordered_map<std::string, std::deque<EntryPtr>> orders_
      ABSL_GUARDED_BY(mutex_);
};

void CallWindow::Core::Add(EntryPtr entry) {
  {
    const MutexLock lock(mutex_);
    ++pending_;
    if (entry->order_key.empty()) {
      ready_.push_back(std::move(entry));
    } else if (const auto [order, first] =
                   orders_.try_emplace(entry->order_key);
               first) {
      ready_.push_back(std::move(entry));
    } else {
      order->second.push_back(std::move(entry));
    }
  }
  StartWhatFits();
}

void CallWindow::Core::StartWhatFits() {
  for (;;) {
    EntryPtr entry;
    bool cancelled = false;
    {
      const MutexLock lock(mutex_);
      cancelled = cancelled_;
      if (ready_.empty()) return;
      if (!cancelled && running_.size() >= options_.window) return;
      entry = std::move(ready_.front());
      ready_.pop_front();
      running_.insert(entry);
    }
    if (cancelled) {
      Finish(entry, absl::CancelledError("cancelled before it began"));
    } else {
      StartAttempt(entry);
    }
  }
}

void CallWindow::Core::StartAttempt(const EntryPtr& entry) {
  entry->call->Start(
      [core = shared_from_this(), entry](const absl::Status& status) {
        core->AttemptFinished(entry, status);
      });
  bool cancelled = false;
  {
    const MutexLock lock(mutex_);
    cancelled = cancelled_;
  }
  // CancelAll may have run after this entry was taken from the queue and before
  // its start, and then had no attempt to cancel.
  if (cancelled) entry->call->Cancel();
}

void CallWindow::Core::AttemptFinished(const EntryPtr& entry,
                                       const absl::Status& status) {
  if (IsRefusedForNow(status) && entry->retries < options_.max_retries) {
    const auto delay = DetailsOf(status).retry_delay;
    if (delay && RetryAfter(entry, *delay)) return;
  }
  Finish(entry, status);
  StartWhatFits();
}

bool CallWindow::Core::RetryAfter(const EntryPtr& entry, absl::Duration delay) {
  delay = std::min(delay * (int64_t{1} << std::min(entry->retries, 20)),
                   options_.max_retry_delay);
  ++entry->retries;
  const MutexLock lock(mutex_);
  if (cancelled_) return false;
  entry->retry_alarm = std::make_unique<grpc::Alarm>();
  entry->retry_alarm->Set(absl::ToChronoTime(absl::Now() + delay),
                          [core = shared_from_this(), entry](bool in_time) {
                            core->DelayOver(entry, in_time);
                          });
  return true;
}

void CallWindow::Core::DelayOver(const EntryPtr& entry, bool in_time) {
  std::unique_ptr<grpc::Alarm> alarm;
  {
    const MutexLock lock(mutex_);
    // The alarm holds the callback and the callback holds the entry: break the
    // cycle.
    alarm = std::move(entry->retry_alarm);
  }
  if (in_time) {
    StartAttempt(entry);
  } else {
    Finish(entry, absl::CancelledError("cancelled before a retry"));
    StartWhatFits();
  }
}

void CallWindow::Core::Finish(const EntryPtr& entry,
                              const absl::Status& status) {
  // Over() runs first. So "idle" means that every Over() has returned, and a
  // call that Over() adds is counted before this call is subtracted.
  entry->call->Over(status);
  const MutexLock lock(mutex_);
  running_.erase(entry);
  if (!entry->order_key.empty()) {
    const auto order = orders_.find(entry->order_key);
    if (order->second.empty()) {
      orders_.erase(order);
    } else {
      ready_.push_back(std::move(order->second.front()));
      order->second.pop_front();
    }
  }
  --pending_;
  finished_.notify_all();
}

void CallWindow::Core::CancelAll() {
  std::vector<EntryPtr> running;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    running.assign(running_.begin(), running_.end());
    for (const EntryPtr& entry : running) {
      // Set does not run the callback on this thread.
      if (entry->retry_alarm) entry->retry_alarm->Cancel();
    }
  }
  for (const EntryPtr& entry : running) entry->call->Cancel();
  StartWhatFits();
}

bool CallWindow::Core::WaitUntilFewerThan(size_t pending,
                                          absl::Duration timeout) {
  const MutexLock lock(mutex_);
  return WaitUntilBelow(pending_, pending, timeout, finished_, mutex_);
}

CallWindow::CallWindow(const CallWindowOptions& options)
    : core_(std::make_shared<Core>(options)) {}

CallWindow::~CallWindow() {
  CancelAll();
  WaitUntilIdle(absl::InfiniteDuration());
}

void CallWindow::Add(std::shared_ptr<WindowedCall> call,
                     std::string order_key) {
  auto entry = std::make_shared<Core::Entry>();
  entry->call = std::move(call);
  entry->order_key = std::move(order_key);
  core_->Add(std::move(entry));
}

bool CallWindow::WaitForRoom(absl::Duration timeout) {
  return core_->WaitUntilFewerThan(2 * core_->window(), timeout);
}

bool CallWindow::WaitUntilIdle(absl::Duration timeout) {
  return core_->WaitUntilFewerThan(1, timeout);
}

void CallWindow::CancelAll() { core_->CancelAll(); }

}  // namespace actord::client
