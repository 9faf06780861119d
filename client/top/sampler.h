// Takes samples again and again on a thread of its own, so that a daemon that
// does not answer holds up nobody who looks.
//
// Thread-safety: the functions are for one thread beside its own. Ownership:
// owns its connection; a new one is made after each failure.
#pragma once

#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cancellation.h"
#include "client/client.h"
#include "client/mutex.h"
#include "client/top/sample.h"
#include "client/top/wish.h"

namespace actord::client::top {

// What there is to be told. What is unset did not happen.
struct News {
  std::optional<absl::StatusOr<Sample>> sample = {};
  absl::Time next_try = absl::InfinitePast();  // when the sample has failed
  std::optional<absl::StatusOr<v1::Process>> details = {};
  std::string pid = {};   // whose details
  std::string done = {};  // what came of a wish, in words
};

class Sampler {
 public:
  // What it is to do until told otherwise.
  struct Wanted {
    SampleRequest request;
    absl::Duration interval = absl::Seconds(2);
    bool paused = false;
    std::string details_pid = {};  // "": nobody's
  };

  // Each call ends after this long.
  static constexpr absl::Duration kCallTimeout = absl::Seconds(5);
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
  // A kCancel or kTerminate. Followed by a sample.
  void Do(Wish wish);

  // Readable while there are news.
  [[nodiscard]] int fd() const { return event_fd_; }
  std::vector<News> Take();

 private:
  void Run();
  // Waits for the next thing to do. False: stop.
  bool WaitForWork();
  void Look();
  void Carry(const Wish& wish);
  void Tell(News news);
  [[nodiscard]] CallOptions Options();

  const std::string address_;
  const int event_fd_;
  Cancellation stop_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  Wanted wanted_ ABSL_GUARDED_BY(mutex_);
  bool now_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<Wish> wishes_ ABSL_GUARDED_BY(mutex_);
  std::vector<News> news_ ABSL_GUARDED_BY(mutex_);
  // Of the thread alone.
  std::unique_ptr<Client> client_;
  absl::Time due_ = absl::InfinitePast();
  absl::Duration retry_ = kFirstRetry;
  std::thread thread_;
};

}  // namespace actord::client::top
