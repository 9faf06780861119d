// A watcher of processes for a test: counts how often it was woken, and folds
// the events that it reads into the set of live processes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "runtime/actors/lifecycle_log.h"

namespace actord::runtime {

struct CountingListener final : LifecycleListener {
  void Wake() override { ++wakes; }
  std::atomic<int> wakes{0};
};

// One reader of the log, for the time of its life.
class LogReader {
 public:
  explicit LogReader(LifecycleLog& log)
      : log_(log),
        listener_(std::make_shared<CountingListener>()),
        id_(log.Open(listener_).value()),
        cursor(log.end()) {}
  ~LogReader() { log_.Close(id_); }
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Returns the next events; the cursor moves.
  LifecycleLog::Reading Read(const LifecycleLog::ReadLimits& limits = {},
                             const ProcessFilter& filter = {}) {
    LifecycleLog::Reading reading = log_.Read(id_, cursor, filter, limits);
    cursor = reading.next;
    return reading;
  }
  [[nodiscard]] int wakes() const { return listener_->wakes; }

 private:
  LifecycleLog& log_;
  const std::shared_ptr<CountingListener> listener_;
  const LifecycleLog::ReaderId id_;

 public:
  uint64_t cursor;
};

// The live processes, by the rules of lifecycle_log.h, of pages and events.
class WatchedView {
 public:
  void Begin() {
    live_.clear();
    started_.clear();
    ended_.clear();
  }
  void Add(const ProcessPage& page) {
    for (const ProcessInfo& info : page.processes) live_.insert(info.pid);
  }
  void Add(const LifecycleEvent& event) {
    if (event.kind == LifecycleEvent::Kind::kStarted) {
      EXPECT_TRUE(started_.insert(event.pid).second)
          << "started twice: " << FormatPid(event.pid);
      EXPECT_EQ(ended_.count(event.pid), 0u)
          << "started after its end: " << FormatPid(event.pid);
      live_.insert(event.pid);
    } else {
      EXPECT_TRUE(ended_.insert(event.pid).second)
          << "ended twice: " << FormatPid(event.pid);
      live_.erase(event.pid);
    }
  }
  [[nodiscard]] const std::set<Pid>& live() const { return live_; }

 private:
  std::set<Pid> live_;
  std::set<Pid> started_;
  std::set<Pid> ended_;
};

}  // namespace actord::runtime
