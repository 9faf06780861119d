// Writes log lines to a descriptor on a thread of its own, so that a reader who
// is slow, or has stopped reading, holds up that thread alone.
//
// Lines that wait for the thread take kMaxWaitingBytes at most. A line that
// finds no room is dropped and counted, and so is a line that the descriptor
// refuses. When the descriptor takes lines again, a notice says how many were
// dropped, at the place where they are missing.
//
// The descriptor stays blocking: O_NONBLOCK would be set for every program that
// shares the open file. A thread whose write does not return is therefore left
// behind by the destructor.
//
// Thread-safety: every function may be called from any thread. Ownership:
// borrows the descriptor, which has to stay open until the program ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/time/time.h"

namespace actord::daemon {

class LogWriter {
 public:
  static constexpr size_t kMaxWaitingBytes = size_t{1} << 20;
  // How long an end of the program waits for lines to be written. A disk that
  // is busy may take some of it.
  static constexpr absl::Duration kLastPatience = absl::Seconds(1);

  // Returns the line, with its end, that tells of `dropped` lines. Called on
  // the writer's thread.
  using Notice = std::function<std::string(uint64_t dropped)>;

  LogWriter(int descriptor, Notice notice);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Takes one line, with its end, and does not wait for the descriptor. If the
  // system had no thread for the writer, the caller writes, and does wait.
  void Write(std::string_view line);

  // Waits until all that was taken before has been written or dropped. False:
  // `patience` was over first.
  bool Flush(absl::Duration patience);
  // As Flush, for a signal handler: touches no lock and no heap.
  bool AwaitWritten(absl::Duration patience) const;

  // Lines dropped since the beginning.
  [[nodiscard]] uint64_t dropped() const;

 private:
  struct State;

  // Shared with the thread, which may outlive this.
  const std::shared_ptr<State> state_;
  std::thread thread_;  // not joinable: the system had none
};

}  // namespace actord::daemon
