#include "daemon/thread_check.h"

#include <time.h>

#include <filesystem>
#include <iterator>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace actord::daemon {
namespace {

// Returns the number of threads of this program, as counted by the system.
size_t CountThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator threads("/proc/self/task", error);
  return error ? 0
               : static_cast<size_t>(std::distance(
                     begin(threads), std::filesystem::directory_iterator()));
}

// Waits until the program has at most `count` threads: the system still counts
// a joined thread for a moment.
void AwaitThreads(size_t count) {
  constexpr timespec kPause{0, 1'000'000};
  constexpr int kMaxPauses = 1000;
  for (int i = 0; i < kMaxPauses && CountThreads() > count; ++i) {
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace

absl::Status CheckThreads(size_t count, const std::string& for_whom) {
  const size_t before = CountThreads();
  absl::Status status;
  absl::Notification checked;
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) {
      threads.emplace_back([&checked] { checked.WaitForNotification(); });
    }
  } catch (const std::system_error& error) {
    status = absl::InternalError(
        absl::StrCat("the system has ", threads.size(), " threads left, and ",
                     for_whom, " needs ", count, ": ", error.what()));
  }
  checked.Notify();
  for (std::thread& thread : threads) thread.join();
  AwaitThreads(before);
  return status;
}

}  // namespace actord::daemon
