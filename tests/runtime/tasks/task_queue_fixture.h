// A work queue whose tasks are named by tag, and what tests do with it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/tasks/task_queue.h"
#include "tests/runtime/system/manual_clock.h"

namespace actord::runtime {

// Commands begin with "a", "b", …; a task is named by process and tag.
class TaskQueueTest : public ::testing::Test {
 protected:
  TaskQueueTest() : queue_(Policies()) {}

  static std::vector<WorkPolicy> Policies() {
    WorkPolicy quick{.pattern = "quick.*", .max_attempts = 3};
    quick.lease = absl::Seconds(10);
    quick.attempt_timeout = absl::Seconds(25);
    quick.start_timeout = absl::Seconds(100);
    quick.backoff = absl::Seconds(1);
    quick.max_backoff = absl::Seconds(60);
    return {quick};
  }
  static YieldToken TokenOf(uint64_t tag, uint32_t process = 1) {
    return {{1, 1, process, 1}, tag};
  }
  void Add(uint64_t tag, const std::string& command = "a",
           uint32_t process = 1) {
    queue_.Add(TokenOf(tag, process), command, now_);
  }
  RemoteWorkerId Open(std::vector<std::string> patterns, uint32_t credits) {
    const RemoteWorkerId id = queue_.Open(patterns, "", Owner::kNobody);
    EXPECT_TRUE(queue_.AddCredits(id, credits));
    return id;
  }
  // The tag of the next task that the worker gets; 0: it rests.
  uint64_t Take(RemoteWorkerId worker, uint32_t attempt = 0) {
    const auto lease = queue_.Take(worker, now_);
    queue_.Served(worker, /*rests=*/!lease);
    if (!lease) return 0;
    if (attempt != 0) {
      EXPECT_EQ(lease->attempt, attempt);
    }
    return lease->token.tag;
  }
  std::vector<uint64_t> TakeAll(RemoteWorkerId worker) {
    std::vector<uint64_t> tags;
    while (const uint64_t tag = Take(worker)) tags.push_back(tag);
    return tags;
  }
  void AdvanceTo(uint64_t seconds) {
    now_ = seconds * kSecond;
    queue_.Tick(now_);
  }
  std::vector<uint64_t> Cancelled(RemoteWorkerId worker) {
    std::vector<uint64_t> tags;
    for (const TaskCancel& cancel : queue_.TakeCancels(worker)) {
      tags.push_back(cancel.token.yield.tag);
    }
    return tags;
  }
  bool Fail(uint64_t tag) {
    return queue_.Fail(TokenOf(tag),
                       {absl::StatusCode::kAborted, "no paper", std::nullopt},
                       now_);
  }

  uint64_t now_ = kSecond;
  TaskQueue queue_;
};

}  // namespace actord::runtime
