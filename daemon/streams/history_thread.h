// The thread that reads histories from the store. It has a low priority, so
// that histories take little processor time from the daemon's other work, and
// takes turns among them.
//
// Thread-safety: any thread. Lifetime: ends before the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "runtime/durable/durable_store.h"
#include "runtime/process/owner.h"

namespace actord::daemon {

// A history that is being read.
class HistoryWork {
 public:
  enum class Next {
    kNow,    // there is more to do
    kLater,  // after Wake, or after a moment
    kOver,
  };
  virtual ~HistoryWork() = default;
  // Does a bounded part of the work. Called by one thread.
  virtual Next Do() = 0;
};

class HistoryThread {
 public:
  // More histories at a time are refused. One owner, who may ask for processes
  // that never were and cost a walk through the whole journal, gets kMaxOfOwner
  // of them. Callers without an owner are not told apart, and share them all.
  static constexpr size_t kMaxHistories = 16;
  static constexpr size_t kMaxOfOwner = 4;

  HistoryThread(runtime::DurableStore& store, uint64_t retention_ns)
      : store_(store), retention_ns_(retention_ns) {}
  ~HistoryThread();
  HistoryThread(const HistoryThread&) = delete;
  HistoryThread& operator=(const HistoryThread&) = delete;

  // INTERNAL: the system has no thread left.
  absl::Status Start();
  // RESOURCE_EXHAUSTED (HISTORY_LIMIT).
  absl::Status Add(std::shared_ptr<HistoryWork> work, runtime::Owner owner);
  // Says that a work that has returned kLater may have something to do.
  void Wake();

  [[nodiscard]] runtime::DurableStore& store() const { return store_; }
  // How long the history of a process can be read after its end.
  [[nodiscard]] uint64_t retention_ns() const { return retention_ns_; }

 private:
  struct Entry {
    std::shared_ptr<HistoryWork> work;
    runtime::Owner owner = runtime::Owner::kNobody;
  };

  void Run();

  runtime::DurableStore& store_;
  const uint64_t retention_ns_;
  absl::Mutex mutex_;
  std::vector<Entry> works_ ABSL_GUARDED_BY(mutex_);
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace actord::daemon
