// Takes samples periodically on its own thread, so that the view stays
// responsive when the daemon does not answer.
//
// Thread-safety: one other thread may call the functions. Ownership: owns its
// connection; makes a new one after each failure.
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
#include "client/calls/endpoint.h"
#include "client/calls/mutex.h"
#include "client/top/sample.h"
#include "client/top/wish.h"

namespace actord::client::top {

// The outcome of a command (cancel or terminate), in words.
struct Done {
  std::string text;
  bool ok = false;
};

// News since the last call: the newest of each kind. An unset member did not
// happen.
struct News {
  std::optional<absl::StatusOr<Sample>> sample = {};
  // Set when the sample failed.
  std::chrono::steady_clock::time_point next_try = {};
  std::optional<absl::StatusOr<v1::Process>> details = {};
  // The PID of the details.
  std::string pid = {};
  // The last kMostDone outcomes, in their order.
  std::vector<Done> done = {};
};

class Sampler {
 public:
  using Clock = std::chrono::steady_clock;

  // The sample to take until the next Want.
  struct Wanted {
    SampleRequest request = {};
    absl::Duration interval = absl::Seconds(2);
    bool paused = false;
    // "": no details.
    std::string details_pid = {};
  };

  // Deadline of each RPC, and again of all RPCs of one sample.
  static constexpr absl::Duration kCallTimeout = absl::Seconds(5);
  static constexpr absl::Duration kLookTimeout = absl::Seconds(30);
  // Maximum number of queued commands, and of outcomes that were not taken.
  static constexpr size_t kMostWishes = 16;
  static constexpr size_t kMostDone = 16;
  // First delay before a retry; it doubles with each failure.
  static constexpr absl::Duration kFirstRetry = absl::Milliseconds(500);
  static constexpr absl::Duration kLongestRetry = absl::Seconds(10);

  Sampler(Endpoint endpoint, Wanted wanted);
  // Cancels the RPC under way.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // `now`: take a sample now, not only when the interval is over.
  void Want(Wanted wanted, bool now);
  // Enqueues a kCancel or kTerminate. Does not wait for a sample under way: the
  // sample is cancelled and taken again after the command. False: kMostWishes
  // are queued already, and the command is dropped.
  [[nodiscard]] bool Do(Wish wish);

  // Readable while there is news.
  [[nodiscard]] int fd() const { return event_fd_; }
  News Take();

  // True if a command has no outcome yet.
  [[nodiscard]] bool HasOpenWishes();
  // Ends the sampling. With `wait`, waits for the outcomes of queued commands,
  // for kCallTimeout or until `interrupt`. Returns the outcomes that were not
  // taken; !ok marks a command that was not sent or has no answer.
  std::vector<Done> Finish(bool wait, Cancellation& interrupt);

 private:
  void Run();
  // Waits for the next thing to do. False: stop.
  bool WaitForWork();
  void FetchSample();
  void CarryAll();
  Done Carry(const Wish& wish);
  void Wake();
  // Time of the next sample, unless somebody asks for one.
  [[nodiscard]] Clock::time_point Due() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Endpoint endpoint_;
  const int event_fd_;
  Cancellation stop_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  Wanted wanted_ ABSL_GUARDED_BY(mutex_);
  bool now_ ABSL_GUARDED_BY(mutex_) = true;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Wish> wishes_ ABSL_GUARDED_BY(mutex_);
  // The command under way.
  std::optional<Wish> carried_ ABSL_GUARDED_BY(mutex_);
  // Cancels the sample under way, if any.
  Cancellation* look_ ABSL_GUARDED_BY(mutex_) = nullptr;
  News news_ ABSL_GUARDED_BY(mutex_);
  // Used by the sampler's thread alone.
  std::unique_ptr<Client> client_;
  // Begin of the last sample.
  Clock::time_point begin_ = Clock::now();
  Clock::time_point end_ = begin_;
  absl::Duration retry_ = kFirstRetry;
  std::thread thread_;
};

}  // namespace actord::client::top
