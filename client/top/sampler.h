// Takes samples again and again on a thread of its own, so that a daemon that
// does not answer holds up nobody who looks.
//
// Thread-safety: the functions are for one thread beside its own. Ownership:
// owns its connection; a new one is made after each failure.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"
#include "client/calls/client.h"
#include "client/calls/mutex.h"
#include "client/top/sample.h"
#include "client/top/wish.h"

namespace actord::client::top {

// What came of a wish, in words.
struct Done {
  std::string text;
  bool ok = false;
};

// What there is to be told since the last time: the last of each. What is unset
// did not happen.
struct News {
  std::optional<absl::StatusOr<Sample>> sample = {};
  // When the sample has failed.
  std::chrono::steady_clock::time_point next_try = {};
  std::optional<absl::StatusOr<v1::Process>> details = {};
  std::string pid = {};         // whose details
  std::vector<Done> done = {};  // the last kMostDone, in their order
};

class Sampler {
 public:
  using Clock = std::chrono::steady_clock;

  // What it is to do until told otherwise.
  struct Wanted {
    SampleRequest request = {};
    absl::Duration interval = absl::Seconds(2);
    bool paused = false;
    std::string details_pid = {};  // "": nobody's
  };

  // Each call ends after this long, and all those of one sample after that.
  static constexpr absl::Duration kCallTimeout = absl::Seconds(5);
  static constexpr absl::Duration kLookTimeout = absl::Seconds(30);
  // Wishes that wait for their turn, and answers that wait to be taken.
  static constexpr size_t kMostWishes = 16;
  static constexpr size_t kMostDone = 16;
  // Before it tries again: the first time, doubled with each failure.
  static constexpr absl::Duration kFirstRetry = absl::Milliseconds(500);
  static constexpr absl::Duration kLongestRetry = absl::Seconds(10);

  Sampler(std::string address, Wanted wanted);
  // Breaks off the call that is under way.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // `now`: not only when the interval is over.
  void Want(Wanted wanted, bool now);
  // A kCancel or kTerminate. Does not wait for a sample that is being taken:
  // that is broken off, and taken anew after it. False: kMostWishes wait
  // already, and nothing is done.
  [[nodiscard]] bool Do(Wish wish);

  // Readable while there are news.
  [[nodiscard]] int fd() const { return event_fd_; }
  News Take();

  // A wish has no answer yet.
  [[nodiscard]] bool HasOpenWishes();
  // For the end: takes no more samples, and with `wait` waits for the answers
  // to wishes, for kCallTimeout or until `interrupt`. Returns what nobody has
  // taken yet, and with !ok what was not sent or has no answer.
  std::vector<Done> Finish(bool wait, Cancellation& interrupt);

 private:
  void Run();
  // Waits for the next thing to do. False: stop.
  bool WaitForWork();
  void FetchSample();
  void CarryAll();
  Done Carry(const Wish& wish);
  void Wake();
  // When to look again if nobody asks for it.
  [[nodiscard]] Clock::time_point Due() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string address_;
  const int event_fd_;
  Cancellation stop_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  Wanted wanted_ ABSL_GUARDED_BY(mutex_);
  bool now_ ABSL_GUARDED_BY(mutex_) = true;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Wish> wishes_ ABSL_GUARDED_BY(mutex_);
  std::optional<Wish> carried_ ABSL_GUARDED_BY(mutex_);   // is under way
  Cancellation* look_ ABSL_GUARDED_BY(mutex_) = nullptr;  // if one is under way
  News news_ ABSL_GUARDED_BY(mutex_);
  // Of the thread alone.
  std::unique_ptr<Client> client_;
  Clock::time_point begin_ = Clock::now();  // of the last look
  Clock::time_point end_ = begin_;
  absl::Duration retry_ = kFirstRetry;
  std::thread thread_;
};

}  // namespace actord::client::top
