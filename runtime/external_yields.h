// Commands that remote workers carry out: what waits for its completion, and,
// for a while, how what no longer waits has ended, so that a late or repeated
// answer gets a truthful reply.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "runtime/clock.h"
#include "runtime/limits.h"
#include "runtime/mutex.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class ExternalYields {
 public:
  // `patterns`: RuntimeOptions::external_commands.
  ExternalYields(std::vector<std::string> patterns, const LiveLimits& limits,
                 const Clock& clock);

  [[nodiscard]] bool IsExternal(std::string_view command) const;

  // `completion` is the yield's handle at the broker. False: those that wait
  // take all the bytes that they may; nothing has happened.
  [[nodiscard]] bool Add(ExternalYield yield, actord_completion completion);
  // The yield was completed by something other than an answer.
  void Expire(const YieldToken& token);

  // Decides what an answer means. For a waiting yield `complete` is called with
  // its handle. kAccepted: the answer came first. kExpired: a timeout, or the
  // process's end, did, and is about to call Expire. kMailboxFull: it waits on.
  CompleteAnswer Answer(
      const YieldToken& token, const YieldResult& result,
      absl::FunctionRef<CompleteAnswer(actord_completion)> complete);

  // See Runtime::ListYields.
  YieldPage List(const YieldFilter& filter, uint64_t first_sequence,
                 size_t page_size, size_t page_bytes) const;
  [[nodiscard]] size_t waiting() const;

 private:
  struct Waiting {
    ExternalYield yield;
    actord_completion completion = 0;
    size_t bytes = 0;  // what it is charged
  };
  using WaitingBySequence = std::map<uint64_t, Waiting>;
  // How a yield ended. With its Memory and what the tables add, no more than
  // 160 bytes, so that a limit of their count is one of bytes.
  struct Ended {
    bool answered = false;     // or expired
    uint64_t fingerprint = 0;  // of the answer
  };
  struct Memory {
    YieldToken token;
    uint64_t since_ns = 0;
  };

  // It waits no longer.
  void Remove(const YieldToken& token, WaitingBySequence::iterator waiting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const YieldToken& token, Ended ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets what is too old, and more of the oldest until there is room for
  // `room` others.
  void Forget(size_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::string> patterns_;
  const LiveLimits& limits_;
  const Clock& clock_;

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
};

// Whether `command` matches `pattern`: a name, or a prefix that ends in '*'.
bool MatchesPattern(std::string_view pattern, std::string_view command);

}  // namespace actord::runtime
