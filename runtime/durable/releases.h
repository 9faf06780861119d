// Everything that leaves the set of durable processes (acknowledgements,
// answers, messages to volatile processes, ends) waits here until the records
// behind it are durable. Releases run one at a time, in the order of the
// positions. So the effects of a process leave in their order, whichever thread
// ran the process.
//
// Thread-safety: any thread. Lifetime: outlives the journal.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/journal/options.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class Releases final : public JournalEvents {
 public:
  using Release = absl::AnyInvocable<void() &&>;

  // `failed`: called once when the disk has failed; the program must end with
  // status 74. Nothing is released after that.
  explicit Releases(std::function<void(const absl::Status&)> failed);
  ~Releases() override;
  Releases(const Releases&) = delete;
  Releases& operator=(const Releases&) = delete;

  // `waits` is called with the position of each release that waits, on the
  // thread that calls After. `commits` is called by AfterHere, and may make the
  // position durable: it returns the durable position, or 0 (Journal::
  // CommitHere). To be called before the first After.
  void OnWait(std::function<void(uint64_t position)> waits,
              std::function<uint64_t(uint64_t position)> commits);
  // `caught_up` is called when the journal is no longer behind, on the release
  // thread, or in Run; it must not block. Null: nothing is called. After Stop
  // it may be replaced, and is no longer called.
  void OnCaughtUp(std::function<void()> caught_up);

  // Calls `release` when the record at `position` is durable, on the release
  // thread or in Run. After Stop calls it at once, or never if the record is
  // not durable. It must not block.
  void After(uint64_t position, Release release);
  // Same as After, for a thread that holds no lock and that can wait for a
  // sync. It may make the record durable itself, and then calls all due
  // releases, unless another thread does: a lone caller needs no other thread.
  void AfterHere(uint64_t position, Release release);

  // Starts the release thread. Without that thread, the owner calls Run.
  void Start();
  // Runs all releases whose records are durable, and ends the thread. To be
  // called when the journal is closed. The other releases are dropped, because
  // their records are not durable.
  void Stop();
  // Runs all releases whose records are durable. False: there were none.
  bool Run();

  // JournalEvents.
  void Durable(uint64_t lsn) override;
  void CaughtUp() override;
  void Failed(const absl::Status& status) override;

 private:
  struct Held {
    uint64_t position = 0;
    Release release;
  };

  void RunThread();
  // Keeps or drops the release. False: the caller must call it at once.
  // `wakes`: whether to wake the release thread if the release is due.
  bool Keep(uint64_t position, Release& release, bool wakes);
  // Takes the releases whose records are durable from the front.
  std::deque<Held> TakeDurable();
  // Same as Run.
  bool ReleaseDurable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(releasing_);

  const std::function<void(const absl::Status&)> failed_;
  std::function<void(uint64_t)> waits_;
  std::function<uint64_t(uint64_t)> commits_;
  // Held while releases run, so that one runs at a time.
  Mutex releasing_;
  std::function<void()> caught_up_ ABSL_GUARDED_BY(releasing_);
  Mutex mutex_;
  ConditionVariable wake_;
  // In the order of the positions; for the same position, in the order of the
  // calls of After.
  std::deque<Held> held_ ABSL_GUARDED_BY(mutex_);
  // All records before this position are durable.
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  // caught_up_ is to be called.
  bool has_caught_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Stop has run its releases. From now on After calls releases itself.
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_;
};

}  // namespace actord::runtime
