// Commands that programs outside carry out: what waits for its completion, who
// is at it (task_queue.h), and, for a while, how what no longer waits has
// ended, so that a late or repeated answer gets a truthful reply.
//
// Thread-safety: any thread. One lock for all of it: whether a yield waits and
// whose attempt it is change together.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/settings/command_pattern.h"
#include "runtime/settings/limits.h"
#include "runtime/system/clock.h"
#include "runtime/system/mutex.h"
#include "runtime/system/parker.h"
#include "runtime/tasks/external_yield.h"
#include "runtime/tasks/remote_tasks.h"
#include "runtime/tasks/task_queue.h"

namespace actord::runtime {

class TaskTable final : public RemoteTasks {
 public:
  // Completes a yield at the broker. kAccepted: with this result. kExpired: a
  // timeout, or the process's end, was first and is about to call Expire.
  // kMailboxFull: it waits on. Called under the lock.
  using Completer =
      std::function<CompleteAnswer(actord_completion, const YieldResult&)>;

  // `patterns`: RuntimeOptions::external_commands.
  TaskTable(std::vector<std::string> patterns, std::vector<WorkPolicy> policies,
            const LiveLimits& limits, const Clock& clock, Completer complete);

  [[nodiscard]] bool IsExternal(std::string_view command) const;

  // What the configuration says of a command.
  [[nodiscard]] WorkPolicy PolicyOf(std::string_view command) const;
  // `completion` is the yield's handle at the broker; `policy` its own, or
  // null. False: those that wait take all the bytes that they may; nothing has
  // happened.
  [[nodiscard]] bool Add(ExternalYield yield, actord_completion completion,
                         std::unique_ptr<const WorkPolicy> policy = nullptr);
  // The yield was completed by something other than an answer.
  void Expire(const YieldToken& token);

  // RemoteTasks.
  [[nodiscard]] bool MayBeExternal(std::string_view pattern) const override;
  RemoteWorkerId Open(std::vector<std::string> patterns, std::string name,
                      std::shared_ptr<TaskListener> listener) override;
  void Close(RemoteWorkerId worker) override;
  [[nodiscard]] bool AddCredits(RemoteWorkerId worker, uint32_t count) override;
  void StopTasks(RemoteWorkerId worker) override;
  void Heard(RemoteWorkerId worker) override;
  [[nodiscard]] TaskBatch Take(RemoteWorkerId worker, bool busy,
                               const TaskBatchLimits& limits) override;
  CompleteAnswer Complete(const TaskToken& token,
                          const YieldResult& result) override;
  CompleteAnswer Fail(const TaskToken& token,
                      const TaskFailure& failure) override;
  CompleteAnswer Heartbeat(const TaskToken& token,
                           std::optional<Payload> progress) override;

  // Carries out what is due and wakes the workers that are to be woken. Returns
  // in how many nanoseconds to look again; Parker::kForever: when AwaitDue
  // returns. From one thread at a time.
  uint64_t HandleDue();
  // Until there is something to look at, or so long.
  void AwaitDue(uint64_t timeout_ns) { alarm_.Wait(timeout_ns); }
  void StopAwaiting() { alarm_.Notify(); }

  // See Runtime::ListYields.
  YieldPage List(const YieldFilter& filter, uint64_t first_sequence,
                 size_t page_size, size_t page_bytes) const;
  [[nodiscard]] size_t waiting() const;
  struct WorkStats {
    size_t workers = 0;
    size_t leased = 0;
  };
  [[nodiscard]] WorkStats work_stats() const;

 private:
  struct Waiting {
    ExternalYield yield;
    actord_completion completion = 0;
    size_t bytes = 0;  // what it is charged
    std::optional<Payload> progress;
  };
  using WaitingBySequence = std::map<uint64_t, Waiting>;
  // How a yield ended. With its Memory and what the tables add, no more than
  // 160 bytes, so that a limit of their count is one of bytes.
  struct Ended {
    bool answered = false;     // or expired
    uint32_t attempts = 0;     // handed out by then
    uint64_t fingerprint = 0;  // of the answer
  };
  struct Memory {
    YieldToken token;
    uint64_t since_ns = 0;
  };

  Waiting* Find(const YieldToken& token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What a token of an attempt at a waiting yield means before anything is
  // done; kAccepted: it is the last attempt, or speaks for the yield.
  [[nodiscard]] CompleteAnswer CheckAttempt(const TaskToken& token) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What became of a yield that waits no longer, for whoever is late with
  // something of this fingerprint; nullopt: with anything.
  CompleteAnswer WhatBecame(const TaskToken& token,
                            std::optional<uint64_t> fingerprint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // It waits no longer.
  void End(const YieldToken& token, Ended ended, uint32_t answered_by)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After whatever may have ended tasks, woken workers or set a time: completes
  // the former, and sees to it that somebody looks at the latter.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepProgress(Waiting& waiting, Payload progress)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DescribeTask(ExternalYield& yield) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const YieldToken& token, Ended ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets what is too old, and more of the oldest until there is room for
  // `room` others.
  void Forget(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::string> patterns_;
  const LiveLimits& limits_;
  const Clock& clock_;
  const Completer complete_;

  mutable Mutex mutex_;
  // Sequences begin at 1 and order by age.
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  WaitingBySequence waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<YieldToken, uint64_t> sequence_by_token_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<YieldToken, Ended> ended_ ABSL_GUARDED_BY(mutex_);
  // Of ended_, oldest first.
  std::deque<Memory> memory_ ABSL_GUARDED_BY(mutex_);

  TaskQueue work_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<RemoteWorkerId, std::shared_ptr<TaskListener>> listeners_
      ABSL_GUARDED_BY(mutex_);
  std::vector<RemoteWorkerId> to_wake_ ABSL_GUARDED_BY(mutex_);
  // When HandleDue will be called by itself.
  uint64_t next_due_ns_ ABSL_GUARDED_BY(mutex_) = TaskQueue::kNever;
  Parker alarm_;
};

}  // namespace actord::runtime
