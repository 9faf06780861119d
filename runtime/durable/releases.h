// What leaves the set of durable processes waits here until the records that it
// rests on are durable: acknowledgements, answers, messages to volatile
// processes, ends. It is released in the order of the positions, one at a time,
// so what leaves a process leaves in its order, whichever thread ran the
// process.
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
  // `caught_up` is called when the journal was behind and is no more, on the
  // release thread, or in Run; it must not block. Null: nobody is told. After
  // Stop it may be replaced, and is not called any more.
  void OnCaughtUp(std::function<void()> caught_up);

  // Calls `release` when the record at `position` is durable, on the release
  // thread, or in Run; after Stop at once, or never. It must not block.
  void After(uint64_t position, Release release);
  // As After, for a thread that holds no lock and that nobody needs for the
  // time of a sync. It may make the record durable, and then calls all releases
  // that are due, if no other thread does: a caller that is alone needs no
  // other thread.
  void AfterHere(uint64_t position, Release release);

  // Starts the release thread. Without it, somebody calls Run.
  void Start();
  // Releases everything that is durable, and ends the thread. To be called when
  // the journal is closed. The rest is dropped: its records are not durable.
  void Stop();
  // Releases everything that is durable. False: nothing was.
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
  // Keeps or drops the release. False: it is to be called at once. `wakes`: the
  // release thread, if the release is due.
  bool Keep(uint64_t position, Release& release, bool wakes);
  // Takes what is durable from the front.
  std::deque<Held> TakeDurable();
  // As Run.
  bool ReleaseDurable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(releasing_);

  const std::function<void(const absl::Status&)> failed_;
  std::function<void(uint64_t)> waits_;
  std::function<uint64_t(uint64_t)> commits_;
  // Held while releases run, so that one runs at a time.
  Mutex releasing_;
  std::function<void()> caught_up_ ABSL_GUARDED_BY(releasing_);
  Mutex mutex_;
  ConditionVariable wake_;
  // In the order of the positions; of one position, in the order of After.
  std::deque<Held> held_ ABSL_GUARDED_BY(mutex_);
  // All records before this position are durable.
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  // caught_up_ is to be called.
  bool has_caught_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // Stop has released everything. From now on After itself releases.
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  SystemThread thread_;
};

}  // namespace actord::runtime
