#include "daemon/streams/history_thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

// How often a followed history checks for new records.
constexpr absl::Duration kLook = absl::Milliseconds(50);
constexpr absl::Duration kRetry = absl::Seconds(1);
// Low, but not the lowest, because the thread shares short locks with the
// journal's threads.
constexpr int kNice = 10;

absl::Status TooMany(const std::string& what) {
  return runtime::Retryable(
      absl::StatusCode::kResourceExhausted, runtime::reason::kHistoryLimit,
      absl::StrCat(what, " are being read already"), kRetry);
}

}  // namespace

HistoryThread::~HistoryThread() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

absl::Status HistoryThread::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    return absl::InternalError(
        absl::StrCat("cannot start the thread of histories: ", error.what()));
  }
  return absl::OkStatus();
}

absl::Status HistoryThread::Add(std::shared_ptr<HistoryWork> work,
                                runtime::Owner owner) {
  const absl::MutexLock lock(&mutex_);
  if (works_.size() >= kMaxHistories) {
    return TooMany(absl::StrCat(kMaxHistories, " histories"));
  }
  const auto of_owner = std::count_if(
      works_.begin(), works_.end(),
      [owner](const Entry& entry) { return entry.owner == owner; });
  if (owner != runtime::Owner::kNobody &&
      std::cmp_greater_equal(of_owner, kMaxOfOwner)) {
    return TooMany(absl::StrCat(kMaxOfOwner, " histories of this owner"));
  }
  works_.push_back({std::move(work), owner});
  woken_ = true;
  return absl::OkStatus();
}

void HistoryThread::Wake() {
  const absl::MutexLock lock(&mutex_);
  woken_ = true;
}

void HistoryThread::Run() {
  pthread_setname_np(pthread_self(), "history");
  static_cast<void>(
      setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice));
  bool is_busy = false;
  for (;;) {
    std::vector<Entry> works;
    {
      const absl::MutexLock lock(&mutex_);
      const auto is_due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return woken_ || stopping_;
      };
      if (!is_busy) {
        mutex_.AwaitWithTimeout(
            absl::Condition(&is_due),
            works_.empty() ? absl::InfiniteDuration() : kLook);
      }
      if (stopping_) {
        works_.clear();
        return;
      }
      woken_ = false;
      works = works_;
    }
    is_busy = false;
    for (const Entry& entry : works) {
      const HistoryWork::Next next = entry.work->Do();
      is_busy |= next == HistoryWork::Next::kNow;
      if (next != HistoryWork::Next::kOver) continue;
      const absl::MutexLock lock(&mutex_);
      std::erase_if(works_, [&entry](const Entry& other) {
        return other.work == entry.work;
      });
    }
  }
}

}  // namespace actord::daemon
