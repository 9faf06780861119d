// Marks the durable process that each thread runs in a file that outlives the
// program: after a crash the next start knows in which process's step it came.
// A command that is handled again after a restart counts as a step.
// A process that has ended the program in its step `max_crashes` times is
// poison: it goes into quarantine instead of ending the program again.
//
// The file is mapped, so a step costs a few stores, and the system keeps them
// when the program is killed. Beside the marks the file holds how often each
// process was found in this way since the last clean end.
//
//   crash      a signal ended the program. Only the process in whose step the
//              thread was is counted.
//   killed     the program could not record its end: SIGKILL, no memory, no
//              power. Each process that was in a step is counted; from 1 again
//              if it has passed the step in which it was found before.
//   exit       the program has ended itself, for example because the disk has
//              failed. Nobody is counted.
//   clean end  all counts are forgotten.
//
// When another version of the plugin runs a process, it is counted from 1
// again.
//
// Thread-safety: Open, EndCleanly and the destructor: one thread. A mark
// belongs to the thread that has taken it. Everything else: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/files/file_system.h"
#include "runtime/process/pid.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class StepMarks {
 public:
  // The mark of one thread. `used` is written last when a step begins and first
  // when it ends, with release, so that a reader after a crash sees a whole
  // mark or none.
  struct alignas(64) Mark {
    std::atomic<uint32_t> used;
    uint32_t pid[4];
    uint64_t step;
    uint64_t code;
  };
  static_assert(sizeof(Mark) == 64 &&
                std::atomic<uint32_t>::is_always_lock_free);

  // A process that was found in a step, and how often.
  struct Suspect {
    Pid pid;
    uint64_t step = 0;
    uint64_t code = 0;  // ProcessType::code
    uint32_t crashes = 0;
    int signal = 0;  // of the last end of the program; 0: it was killed
    // True: the last end of the program is counted here.
    bool is_new = false;
  };

  struct Options {
    FileSystem* files = nullptr;
    std::string directory;  // of the store
    size_t threads =
        0;  // number of threads with a mark; further threads have none
    // 0: no process is poison.
    uint32_t max_crashes = 3;
  };
  // Reads the marks of the last program, and begins anew. A damaged file is
  // ignored. Errors: those of the file system.
  static absl::StatusOr<std::unique_ptr<StepMarks>> Open(
      const Options& options);
  ~StepMarks();
  StepMarks(const StepMarks&) = delete;
  StepMarks& operator=(const StepMarks&) = delete;

  // The mark of a thread; null: there are no more.
  Mark* Take();
  // The mark of this thread, which takes one at its first call.
  Mark* OfThisThread();
  // Marks the step that a thread runs, as long as the object lives. `mark` may
  // be null.
  class Running {
   public:
    Running(Mark* mark, const Pid& pid, uint64_t step, uint64_t code);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Mark* const mark_;
  };

  [[nodiscard]] const std::vector<Suspect>& suspects() const {
    return suspects_;
  }
  // Null: the process was not found in a step of this code.
  [[nodiscard]] const Suspect* Find(const Pid& pid, uint64_t code) const;
  [[nodiscard]] bool IsPoison(const Suspect& suspect) const {
    return max_crashes_ != 0 && suspect.crashes >= max_crashes_;
  }
  [[nodiscard]] uint32_t max_crashes() const { return max_crashes_; }
  // "SIGSEGV", or "SIGKILL or a loss of power" for 0.
  static std::string SignalText(int signal);

  // Counts the crashes of the process from 1 again. If the program crashes
  // meanwhile, all counts may be forgotten.
  void Forget(const Pid& pid);
  // Forgets all counts, if any thread has taken a mark.
  void EndCleanly();
  // To be called when the program is about to end itself.
  void NoteExit();
  // For the signal handler: a signal ends the program on this thread.
  static void NoteCrash(int signal);

 private:
  struct Header;
  struct Fields;
  struct Counted;

  // The suspects in the file of an earlier program; none if it is damaged.
  static std::vector<Suspect> SuspectsIn(std::string_view bytes);
  static void Count(Suspect&& suspect, std::vector<Suspect>& suspects);
  static std::string FileOf(const std::vector<Suspect>& suspects,
                            size_t threads);

  StepMarks(uint32_t max_crashes, size_t threads);
  absl::Status Map(const std::string& path);
  [[nodiscard]] Header& header() const;
  [[nodiscard]] Mark* marks() const;

  const uint32_t max_crashes_;
  const size_t threads_;
  std::vector<Suspect> suspects_;
  Mutex forgetting_;  // the counted entries of the file
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<size_t> taken_{0};
  const uint64_t instance_;  // unlike that of any other object
};

}  // namespace actord::runtime
