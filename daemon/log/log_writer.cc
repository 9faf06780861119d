#include "daemon/log/log_writer.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

uint64_t CountLines(std::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// As many whole lines as a pipe accepts in one piece, so that the lines of
// programs which share the pipe do not mix; or a single line, if it is longer.
std::string_view FirstPiece(std::string_view lines) {
  const size_t end = lines.substr(0, PIPE_BUF).rfind('\n');
  return lines.substr(
      0, (end != std::string_view::npos ? end : lines.find('\n')) + 1);
}

}  // namespace

struct LogWriter::State {
  State(int fd, Notice tell) : descriptor(fd), notice(std::move(tell)) {}

  void Run();
  // Returns how many of the lines the descriptor refused.
  uint64_t WriteLines(std::string_view lines);
  // Same as WriteLines, for one piece. A full disk may take a part of it.
  uint64_t WritePiece(std::string_view piece);
  // Removes the bytes that the descriptor accepts from the front of `bytes`.
  void WriteBytes(std::string_view& bytes);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex) {
    return !waiting.empty() || dropped_since != 0 || stopping;
  }
  bool IsIdle() const ABSL_SHARED_LOCKS_REQUIRED(mutex) {
    return !writing && waiting.empty() && dropped_since == 0;
  }

  const int descriptor;
  const Notice notice;
  absl::Mutex mutex;
  std::string waiting ABSL_GUARDED_BY(mutex);
  // Lines dropped after the lines in `waiting`. While there are any, all new
  // lines are dropped, so that the notice has one right place.
  uint64_t dropped_since ABSL_GUARDED_BY(mutex) = 0;
  bool writing ABSL_GUARDED_BY(mutex) = false;
  bool stopping ABSL_GUARDED_BY(mutex) = false;

  // Written under the mutex (`abandoned`: by the destructor), read without it.
  // Unit: bytes.
  std::atomic<uint64_t> taken{0};
  // Unit: bytes. Written, or refused by the descriptor.
  std::atomic<uint64_t> written{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> abandoned{false};
  // The descriptor took the beginning of a line and refused the rest. The next
  // write ends that line, so that it spoils no other. Relaxed: the writer's
  // thread alone uses it; without that thread, calls at the same time may mix
  // their lines anyway.
  std::atomic<bool> is_cut{false};
};

void LogWriter::State::WriteBytes(std::string_view& bytes) {
  while (!bytes.empty()) {
    if (abandoned.load(std::memory_order_relaxed)) return;
    const ssize_t count = write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      // Another program that shares the open file made it non-blocking.
      pollfd writable{descriptor, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

uint64_t LogWriter::State::WritePiece(std::string_view piece) {
  if (is_cut.load(std::memory_order_relaxed)) {
    std::string_view line_end = "\n";
    WriteBytes(line_end);
    if (!line_end.empty()) return CountLines(piece);
    is_cut.store(false, std::memory_order_relaxed);
  }
  std::string_view rest = piece;
  WriteBytes(rest);
  const size_t count = piece.size() - rest.size();
  if (!rest.empty() && count != 0 && piece[count - 1] != '\n') {
    is_cut.store(true, std::memory_order_relaxed);
  }
  return CountLines(rest);
}

uint64_t LogWriter::State::WriteLines(std::string_view lines) {
  uint64_t refused = 0;
  while (!lines.empty()) {
    const std::string_view piece = FirstPiece(lines);
    refused += WritePiece(piece);
    lines.remove_prefix(piece.size());
  }
  dropped.fetch_add(refused, std::memory_order_relaxed);
  return refused;
}

void LogWriter::State::Run() {
  pthread_setname_np(pthread_self(), "log");
  std::string lines;
  // Dropped lines that no notice has reported.
  uint64_t untold = 0;
  while (!abandoned.load(std::memory_order_relaxed)) {
    uint64_t taken_so_far = 0;
    {
      const absl::MutexLock lock(&mutex);
      writing = false;
      mutex.Await(absl::Condition(this, &State::HasWork));
      if (waiting.empty() && dropped_since == 0) return;
      writing = true;
      lines.clear();
      lines.swap(waiting);
      untold += std::exchange(dropped_since, 0);
      taken_so_far = taken.load(std::memory_order_relaxed);
    }
    const uint64_t refused = WriteLines(lines);
    untold += refused;
    // A refused notice is written later.
    if (untold != 0 && refused == 0 && WritePiece(notice(untold)) == 0) {
      untold = 0;
    }
    written.store(taken_so_far, std::memory_order_release);
  }
}

LogWriter::LogWriter(int descriptor, Notice notice)
    : state_(std::make_shared<State>(descriptor, std::move(notice))) {
  try {
    thread_ = std::thread([state = state_] { state->Run(); });
  } catch (const std::system_error&) {
    // Write works without the thread.
  }
}

LogWriter::~LogWriter() {
  if (!thread_.joinable()) return;
  const bool all_written = Flush(kLastPatience);
  {
    const absl::MutexLock lock(&state_->mutex);
    state_->stopping = true;
  }
  if (all_written) {
    thread_.join();
  } else {
    state_->abandoned.store(true, std::memory_order_relaxed);
    thread_.detach();
  }
}

void LogWriter::Write(std::string_view line) {
  if (!thread_.joinable()) {
    state_->WriteLines(line);
    return;
  }
  const absl::MutexLock lock(&state_->mutex);
  if (state_->dropped_since != 0 ||
      line.size() > kMaxWaitingBytes - state_->waiting.size()) {
    ++state_->dropped_since;
    state_->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  state_->waiting.append(line);
  state_->taken.fetch_add(line.size(), std::memory_order_relaxed);
}

bool LogWriter::Flush(absl::Duration patience) {
  // Short naps, because a wait for the mutex would end by the time of day,
  // which may be set back meanwhile.
  constexpr timespec kPause{0, 1'000'000};
  const runtime::Clock& clock = runtime::Clock::System();
  const uint64_t until_ns =
      clock.MonotonicNs() +
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(patience));
  for (;;) {
    {
      const absl::MutexLock lock(&state_->mutex);
      if (state_->IsIdle()) return true;
    }
    if (clock.MonotonicNs() >= until_ns) return false;
    nanosleep(&kPause, nullptr);
  }
}

bool LogWriter::AwaitWritten(absl::Duration patience) const {
  constexpr timespec kPause{0, 1'000'000};
  const uint64_t taken = state_->taken.load(std::memory_order_relaxed);
  for (int64_t left_ms = absl::ToInt64Milliseconds(patience);
       state_->written.load(std::memory_order_acquire) < taken; --left_ms) {
    if (left_ms <= 0) return false;
    nanosleep(&kPause, nullptr);
  }
  return true;
}

uint64_t LogWriter::dropped() const {
  return state_->dropped.load(std::memory_order_relaxed);
}

}  // namespace actord::daemon
