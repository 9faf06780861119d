// The yields of external commands. The table holds the yields that wait for
// their completion and the workers that hold them (task_queue.h). For a while
// the table also remembers how yields ended, so that a late or repeated answer
// gets a truthful reply.
//
// Thread-safety: any thread. One lock guards the whole table, because the state
// of a yield and of its attempt change together.
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
#include "runtime/delivery/durable_log.h"
#include "runtime/process/owner_limits.h"
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
  // Completes a yield at the broker. kAccepted: the yield has this result.
  // kExpired: a timeout or the end of the process came first and is about to
  // call Expire. kMailboxFull: the yield stays pending. Called under the lock.
  // `is_answer`: false if there is no answer and the result gives the reason.
  using Completer = std::function<CompleteAnswer(
      actord_completion, const YieldResult&, bool is_answer)>;

  // `patterns`: RuntimeOptions::external_commands. `log`: null if the runtime
  // has no store.
  TaskTable(std::vector<std::string> patterns, std::vector<WorkPolicy> policies,
            const LiveLimits& limits, const Clock& clock, Completer complete,
            DurableLog* log = nullptr);

  // (In two parts, because each yield asks.)
  [[nodiscard]] bool IsExternal(std::string_view command) const {
    return !patterns_.empty() && MatchesOne(command);
  }

  // The configured policy of a command.
  [[nodiscard]] WorkPolicy PolicyOf(std::string_view command) const;
  // `completion` is the yield's handle at the broker. `policy` is the yield's
  // own policy, or null. kNoRoom: the waiting yields have reached their limit
  // of bytes. kOverQuota: the yields of the owner have. In both cases nothing
  // has changed.
  enum class Added : uint8_t { kAdded, kNoRoom, kOverQuota };
  // `history`: see TaskQueue::Add.
  [[nodiscard]] Added Add(ExternalYield yield, actord_completion completion,
                          std::unique_ptr<const WorkPolicy> policy = nullptr,
                          const TaskHistory& history = {});
  // The bytes of waiting yields of each owner.
  [[nodiscard]] OwnerLimits& bytes_of() { return bytes_of_; }
  // To be called when a timeout, a cancel or the end of the process has ended
  // the yield.
  void Expire(const YieldToken& token);

  // A yield of a durable process that has not run since the start.
  struct Expected {
    std::string command;
    Owner owner = Owner::kNobody;  // of the process
    Owner worker = Owner::kAny;    // TaskQueue::TaskState::worker_owner
    uint32_t attempts = 0;         // handed out
  };
  // An answer to the yield is kNotRestored until Add brings the yield back, or
  // until StopExpecting. To be called before all other functions.
  void Expect(const YieldToken& token, const Expected& expected);
  // To be called when the process runs or has ended: a yield that Add has not
  // brought back has ended. Does nothing for other yields.
  void StopExpecting(const YieldToken& token);
  // Brings back the answer to a yield of a durable process from the store. To
  // be called before all other functions, the oldest answer first. `age_ns`:
  // the time since the answer.
  struct StoredAnswer {
    Fingerprint fingerprint;  // DurableLog::AnswerOf
    Owner owner = Owner::kNobody;
    Owner worker = Owner::kNobody;
    uint32_t attempts = 0;
  };
  void RestoreAnswer(const YieldToken& token, const StoredAnswer& answer,
                     uint64_t age_ns);

  // RemoteTasks.
  [[nodiscard]] bool MayBeExternal(std::string_view pattern) const override;
  RemoteWorkerId Open(std::vector<std::string> patterns, std::string name,
                      Owner owner,
                      std::shared_ptr<TaskListener> listener) override;
  void Close(RemoteWorkerId worker) override;
  [[nodiscard]] bool AddCredits(RemoteWorkerId worker, uint32_t count) override;
  void StopTasks(RemoteWorkerId worker) override;
  void Heard(RemoteWorkerId worker) override;
  [[nodiscard]] TaskBatch Take(RemoteWorkerId worker, bool busy,
                               const TaskBatchLimits& limits) override;
  [[nodiscard]] std::vector<RemoteWorkerInfo> ListWorkers(
      const RemoteWorkerFilter& filter, RemoteWorkerId after,
      size_t count) const override;
  [[nodiscard]] std::optional<std::string> CommandOf(
      const YieldToken& token) const override;
  [[nodiscard]] YieldFate FateOf(const YieldToken& token) override;
  [[nodiscard]] bool MayAnswer(const YieldToken& token,
                               Owner by) const override;
  CompleteAnswer Complete(const TaskToken& token,
                          const YieldResult& result) override;
  CompleteAnswer Fail(const TaskToken& token,
                      const TaskFailure& failure) override;
  CompleteAnswer Heartbeat(const TaskToken& token,
                           std::optional<Payload> progress) override;

  // Handles the timers that are due and wakes the remote workers that have
  // work. Returns the nanoseconds until the next call; Parker::kForever: no
  // timer is set, so the next call is due when AwaitDue returns. From one
  // thread at a time.
  uint64_t HandleDue();
  // Waits until HandleDue has something to do, at most `timeout_ns`.
  void AwaitDue(uint64_t timeout_ns) { alarm_.Wait(timeout_ns); }
  void StopAwaiting() { alarm_.Notify(); }

  // See Runtime::ListYields.
  YieldPage List(const YieldFilter& filter, uint64_t first_sequence,
                 size_t page_size, size_t page_bytes) const;
  [[nodiscard]] size_t waiting() const;
  struct WorkStats {
    size_t workers = 0;
    size_t leased = 0;
    size_t unserved = 0;  // TaskQueue::CountUnserved
  };
  [[nodiscard]] WorkStats work_stats() const;

 private:
  // Whether one of the patterns matches.
  [[nodiscard]] bool MatchesOne(std::string_view command) const;
  struct Waiting {
    ExternalYield yield;
    actord_completion completion = 0;
    size_t bytes = 0;  // the bytes that it is charged
    // Whether its owner is charged, too.
    bool is_owner_charged = false;
    std::optional<Payload> progress;
  };
  using WaitingBySequence = std::map<uint64_t, Waiting>;
  // How a yield ended. An entry takes no more than 160 bytes, with its Memory
  // and the overhead of the tables, so a limit of the count also limits the
  // bytes.
  struct Ended {
    bool answered = false;         // false: it expired
    Owner owner = Owner::kNobody;  // of the process
    Owner worker = Owner::kAny;    // TaskQueue::TaskState::worker_owner
    uint32_t attempts = 0;         // attempts handed out by then
    uint64_t fingerprint = 0;      // fingerprint of the answer
  };
  struct Memory {
    YieldToken token;
    // May be negative after a restart, so only the difference to another time
    // has a meaning.
    uint64_t since_ns = 0;
  };

  void EndExpected(const YieldToken& token)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Waiting* Find(const YieldToken& token) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks a token for a waiting yield. kAccepted: the token names the last
  // attempt, or no attempt and so the yield.
  [[nodiscard]] CompleteAnswer CheckAttempt(const TaskToken& token) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The reply to a late call for a yield that waits no longer. `fingerprint` is
  // that of the late result; nullopt: the call brings no result.
  CompleteAnswer WhatBecame(const TaskToken& token,
                            std::optional<uint64_t> fingerprint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a waiting yield and remembers how it ended.
  void End(const YieldToken& token, Ended ended, uint32_t answered_by)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To be called after a change that may have ended tasks, woken workers or set
  // a timer. Completes the yields of ended tasks. Notifies the thread that
  // calls HandleDue if a worker is to be woken or a timer is due earlier.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the attempt into the journal. If that fails, removes its task, which
  // is the last one, from the batch.
  void LogAttempt(const TaskAttempt& task, TaskBatch& batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepProgress(Waiting& waiting, Payload progress)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DescribeTask(ExternalYield& yield) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const YieldToken& token, Ended ended, uint64_t age_ns = 0)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets ended yields that are too old, and then the oldest ones until there
  // is room for `room` more.
  void Forget(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::string> patterns_;
  const LiveLimits& limits_;
  const Clock& clock_;
  const Completer complete_;
  DurableLog* const log_;

  mutable Mutex mutex_;
  // Sequence numbers begin at 1 and grow with each yield added.
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  WaitingBySequence waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  OwnerLimits bytes_of_;
  absl::flat_hash_map<YieldToken, uint64_t> sequence_by_token_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<YieldToken, Ended> ended_ ABSL_GUARDED_BY(mutex_);
  // Yields that Add may bring back.
  absl::flat_hash_map<YieldToken, Expected> expected_ ABSL_GUARDED_BY(mutex_);
  // The entries of ended_, oldest first.
  std::deque<Memory> memory_ ABSL_GUARDED_BY(mutex_);

  TaskQueue work_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<RemoteWorkerId, std::shared_ptr<TaskListener>> listeners_
      ABSL_GUARDED_BY(mutex_);
  std::vector<RemoteWorkerId> to_wake_ ABSL_GUARDED_BY(mutex_);
  // The time of the next HandleDue if nothing notifies its thread earlier.
  uint64_t next_due_ns_ ABSL_GUARDED_BY(mutex_) = TaskQueue::kNever;
  Parker alarm_;
};

}  // namespace actord::runtime
