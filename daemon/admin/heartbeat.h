// Finds out whether the scheduler moves: a scheduler that stands still has
// ready processes, and gives none of them a turn.
//
// It counts looks instead of reading a clock, so a daemon that was stopped and
// goes on (SIGSTOP, a suspended machine) is not taken for one that stands
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
  // How often Look is to be called, and how many looks in a row without a turn
  // mean that the scheduler stands still.
  static constexpr int kSecondsBetweenLooks = 1;
  static constexpr int kStillLooks = 10;

  struct Beat {
    uint64_t turns = 0;      // turns of all workers since the start
    bool has_ready = false;  // a process is ready, and waits for a worker
  };

  explicit Heartbeat(std::function<Beat()> read) : read_(std::move(read)) {}

  void Look();
  // What is wrong; "": the scheduler moves.
  [[nodiscard]] std::string Problem() const;

 private:
  const std::function<Beat()> read_;
  uint64_t turns_ = 0;
  // Looks in a row that found ready processes, and no turn since the look
  // before.
  int still_looks_ = 0;
};

}  // namespace actord::daemon
