#include "daemon/operations/memory_return.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

constexpr size_t kBytesPerMiB = size_t{1} << 20;
constexpr uint64_t kMsInNs = 1'000'000;

// 0: cannot be read, and then nothing is given back.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all_pages = 0;
  size_t resident_pages = 0;
  if (!(statm >> all_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

MemoryReturn::Parts MemoryReturn::PartsOf(runtime::Runtime& runtime) {
  return {.resident_bytes = ResidentBytes,
          .steps = [&runtime] { return runtime.Stats().steps; },
          .free_bytes =
              [&runtime] {
                return mallinfo2().fordblks + runtime.FreeBufferBytes();
              },
          .is_busy = [&runtime] { return runtime.HasReadyWork(); },
          .give_back =
              [&runtime] {
                runtime.GivePagesBack();
                malloc_trim(0);
              }};
}

MemoryReturn::MemoryReturn(Parts parts, Logger& logger)
    : parts_(std::move(parts)),
      logger_(logger),
      resident_then_(parts_.resident_bytes()),
      free_then_(parts_.free_bytes()) {}

MemoryReturn::~MemoryReturn() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
}

absl::Status MemoryReturn::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that gives memory back: ", error.what()));
  }
}

void MemoryReturn::Run() {
  pthread_setname_np(pthread_self(), "memory-return");
  uint64_t pause_ns = kLookNs;
  for (;;) {
    parker_.Wait(pause_ns);
    if (stopping_.load(std::memory_order_relaxed)) return;
    pause_ns = Look();
  }
}

uint64_t MemoryReturn::Look() {
  const size_t resident = parts_.resident_bytes();
  const uint64_t steps = parts_.steps();
  // The locks of the allocator are not taken while nothing happens.
  const bool is_new = resident != resident_before_ || steps != steps_before_;
  resident_before_ = resident;
  steps_before_ = steps;
  if (resident < kMinBytes || !is_new) return kLookNs;
  const size_t free = parts_.free_bytes();
  const bool may_shrink =
      free >= kMinBytes && (free >= free_then_ + kMinBytes ||
                            resident >= resident_then_ + kMinBytes);
  if (!may_shrink) return kLookNs;
  if (parts_.is_busy()) {
    resident_before_ = 0;
    return kBusyLookNs;
  }
  const uint64_t begun_ns = runtime::Clock::System().MonotonicNs();
  parts_.give_back();
  const uint64_t took_ns = runtime::Clock::System().MonotonicNs() - begun_ns;
  resident_then_ = resident_before_ = parts_.resident_bytes();
  free_then_ = parts_.free_bytes();
  logger_.Debug(absl::StrCat(
      "gave ", (resident - std::min(resident, resident_then_)) / kBytesPerMiB,
      " MiB of free memory back to the system in ", took_ns / kMsInNs, " ms; ",
      resident_then_ / kBytesPerMiB, " MiB stay"));
  return kLookNs;
}

}  // namespace actord::daemon
