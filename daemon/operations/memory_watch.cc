#include "daemon/operations/memory_watch.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

// While memory is low, memory that is free is given back to the system this
// often. It takes the locks of the allocator for milliseconds.
constexpr int kLooksPerTrim = 10;
// Enough for a machine with few processors.
constexpr int kArenas = 4;

// 0: no limit.
uint64_t MaxAddressSpace() {
  rlimit limit{};
  const bool is_limited =
      getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : 0;
}

// Whether `percent` of the limit are used.
bool IsAbove(const runtime::MemoryUse& use, uint64_t percent) {
  return use.bytes >= use.limit / 100 * percent;
}

}  // namespace

uint64_t MemoryWatch::FreeInAllocator() { return mallinfo2().fordblks; }

void MemoryWatch::BoundArenas() {
  // A failure only costs address space.
  if (MaxAddressSpace() != 0) mallopt(M_ARENA_MAX, kArenas);
}

MemoryWatch::Limits MemoryWatch::FindLimits(const std::string& root) {
  return {.groups = runtime::CgroupMemory(root),
          .max_address_space = MaxAddressSpace()};
}

MemoryWatch::MemoryWatch(Limits limits, std::string root,
                         std::function<void(bool low)> set_low, Logger& logger)
    : limits_(std::move(limits)),
      root_(std::move(root)),
      set_low_(std::move(set_low)),
      logger_(logger) {}

MemoryWatch::~MemoryWatch() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
}

absl::Status MemoryWatch::Start() {
  if (!limits_.groups.is_limited() && limits_.max_address_space == 0) {
    return absl::OkStatus();
  }
  try {
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that watches the memory: ", error.what()));
  }
}

void MemoryWatch::Run() {
  pthread_setname_np(pthread_self(), "memory");
  while (!stopping_.load(std::memory_order_relaxed)) {
    Look();
    parker_.Wait(kIntervalNs);
  }
}

std::optional<runtime::MemoryUse> MemoryWatch::Read(
    const char*& of_what) const {
  std::optional<runtime::MemoryUse> use = limits_.groups.Read();
  of_what = "the limit of the control group (memory.max)";
  if (limits_.max_address_space == 0) return use;
  std::ifstream statm(root_ + "/proc/self/statm");
  uint64_t pages = 0;
  if (!(statm >> pages)) return use;
  runtime::MemoryUse space{
      .bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)),
      .limit = limits_.max_address_space};
  // Called only now, because it takes the locks of the allocator.
  if (IsAbove(space, kEnoughPercent)) {
    space.bytes -= std::min(space.bytes, limits_.free_in_allocator());
  }
  if (use && runtime::IsNearer(*use, space)) return use;
  of_what = "the limit on the address space (RLIMIT_AS)";
  return space;
}

void MemoryWatch::Look() {
  const char* of_what = "";
  const std::optional<runtime::MemoryUse> use = Read(of_what);
  {
    const absl::MutexLock lock(&mutex_);
    last_use_ = use;
  }
  if (!use) return;
  const std::string amounts =
      absl::StrCat(use->bytes >> 20, " of ", use->limit >> 20, " MiB, ",
                   std::string(of_what));
  if (!is_low_ && IsAbove(*use, kLowPercent)) {
    is_low_ = true;
    looks_until_trim_ = 0;
    set_low_(true);
    logger_.Warning(
        absl::StrCat("memory is low: ", amounts,
                     "; new processes, messages and calls are refused with "
                     "MEMORY_LOW"));
  } else if (is_low_ && !IsAbove(*use, kEnoughPercent)) {
    is_low_ = false;
    set_low_(false);
    logger_.Info(absl::StrCat("memory is no longer low: ", amounts));
  }
  if (is_low_ && looks_until_trim_-- == 0) {
    looks_until_trim_ = kLooksPerTrim;
    malloc_trim(0);
  }
}

}  // namespace actord::daemon
