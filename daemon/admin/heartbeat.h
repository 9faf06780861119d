// Finds out whether the scheduler moves. It stands still if there are ready
// processes and none of them gets a turn.
//
// It counts checks instead of reading a clock, so that a daemon that was
// stopped for a while (SIGSTOP, a suspended machine) does not seem to stand
// still.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace actord::daemon {

class Heartbeat {
 public:
  // The interval at which Look must be called, and the number of calls in a row
  // without a turn after which the scheduler counts as standing still.
  static constexpr int kSecondsBetweenLooks = 1;
  static constexpr int kStillLooks = 10;

  struct Beat {
    uint64_t turns = 0;      // turns of all workers since the start
    bool has_ready = false;  // a process is ready, and waits for a worker
  };

  explicit Heartbeat(std::function<Beat()> read) : read_(std::move(read)) {}

  void Look();
  // The problem; "": the scheduler moves.
  [[nodiscard]] std::string Problem() const;

 private:
  const std::function<Beat()> read_;
  uint64_t turns_ = 0;
  // Calls of Look in a row that found ready processes, and no turn since the
  // previous call.
  int still_looks_ = 0;
};

}  // namespace actord::daemon
