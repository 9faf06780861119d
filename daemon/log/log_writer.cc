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
  // False: the descriptor refuses writes.
  bool WritePiece(std::string_view piece);
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
};

bool LogWriter::State::WritePiece(std::string_view piece) {
  while (!piece.empty()) {
    if (abandoned.load(std::memory_order_relaxed)) return false;
    const ssize_t count = write(descriptor, piece.data(), piece.size());
    if (count >= 0) {
      piece.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      // Another program that shares the open file made it non-blocking.
      pollfd writable{descriptor, POLLOUT, 0};
      poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

uint64_t LogWriter::State::WriteLines(std::string_view lines) {
  uint64_t refused = 0;
  while (!lines.empty()) {
    const std::string_view piece = FirstPiece(lines);
    if (!WritePiece(piece)) refused += CountLines(piece);
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
    if (untold != 0 && refused == 0 && WritePiece(notice(untold))) untold = 0;
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
  const absl::MutexLock lock(&state_->mutex);
  return state_->mutex.AwaitWithTimeout(
      absl::Condition(state_.get(), &State::IsIdle), patience);
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
