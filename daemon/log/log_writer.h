// Writes log lines to a descriptor on its own thread, so that a slow or stopped
// reader delays only that thread.
//
// Lines that wait for the thread take at most kMaxWaitingBytes. A line for
// which there is no room is dropped and counted, and so is a line that the
// descriptor refuses, because its disk is full for example. When the descriptor
// accepts lines again, a notice states the number of dropped lines, at the
// place where they are missing. A line that the disk took only in part counts
// as dropped, and stays on a line of its own.
//
// The descriptor stays blocking: O_NONBLOCK would apply to every program that
// shares the open file. So the destructor leaves a thread behind whose write
// does not return.
//
// Thread-safety: every function may be called from any thread. Ownership:
// borrows the descriptor, which must stay open until the program ends.
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
  // How long the end of the program waits for lines to be written. A busy disk
  // may take a part of it.
  static constexpr absl::Duration kLastPatience = absl::Seconds(1);

  // Returns the notice of `dropped` lines, with its line end. Called on the
  // writer's thread.
  using Notice = std::function<std::string(uint64_t dropped)>;

  LogWriter(int descriptor, Notice notice);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Enqueues one line, with its line end, and does not wait for the descriptor.
  // If the system had no thread for the writer, the caller writes the line, and
  // waits.
  void Write(std::string_view line);

  // Waits until every line that was enqueued before has been written or
  // dropped. False: `patience` has passed first.
  bool Flush(absl::Duration patience);
  // Like Flush, for a signal handler: uses no lock and no heap.
  bool AwaitWritten(absl::Duration patience) const;

  // Number of lines dropped since the start.
  [[nodiscard]] uint64_t dropped() const;

 private:
  struct State;

  // Shared with the thread, which may outlive the writer.
  const std::shared_ptr<State> state_;
  // Not joinable: the system had no thread.
  std::thread thread_;
};

}  // namespace actord::daemon
