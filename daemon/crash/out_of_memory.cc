#include "daemon/crash/out_of_memory.h"

#include <grpc/event_engine/memory_allocator.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/crash/crash_line.h"
#include "runtime/crash/running_code.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

constexpr int kLastLinePatienceMs = 1000;

// Global, because the handlers have no arguments. Written before the handlers
// are installed.
constinit std::atomic<LogFormat> line_format{LogFormat::kConsole};
constinit std::atomic<int> end_status{EXIT_FAILURE};
constinit std::atomic<std::terminate_handler> terminate_otherwise{nullptr};
// Whether a thread writes the last line. Others that fail meanwhile wait for
// the end, so there is one line.
constinit std::atomic<bool> ends{false};

[[noreturn]] void End(std::string_view message) {
  if (ends.exchange(true)) {
    for (;;) pause();
  }
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::nanoseconds(runtime::Clock::System().UnixNs()));
  WriteCrashLine(
      STDERR_FILENO,
      ToCrashLine(line_format.load(std::memory_order_relaxed), time, message),
      kLastLinePatienceMs);
  _exit(end_status.load(std::memory_order_relaxed));
}

constexpr std::string_view kRefusedDaemon =
    "out of memory: the system refused an allocation of the daemon; raise its "
    "memory limit, or lower its limits";
constexpr std::string_view kRefusedPlugin =
    "out of memory: the system refused an allocation of a plugin in code that "
    "cannot fail, such as a destructor; raise the memory limit of the daemon, "
    "or lower its limits";

[[noreturn]] void OnTerminate() {
  const std::exception_ptr error = std::current_exception();
  if (error != nullptr) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      End(runtime::RunningCodeHere() ? kRefusedPlugin : kRefusedDaemon);
    } catch (const std::system_error& failure) {
      // Threads of a plugin are its own: the report of the crash names it.
      if (!runtime::RunningCodeHere() &&
          failure.code() == std::errc::resource_unavailable_try_again) {
        End("out of memory or threads: the system refused a thread of the "
            "daemon; raise its memory limit and its limit of threads, or lower "
            "its limits");
      }
    } catch (...) {
    }
  }
  const std::terminate_handler otherwise =
      terminate_otherwise.load(std::memory_order_relaxed);
  if (otherwise != nullptr) otherwise();
  std::abort();
}

std::new_handler Install(LogFormat format, int exit_status) {
  end_status.store(exit_status, std::memory_order_relaxed);
  line_format.store(format, std::memory_order_relaxed);
  return std::set_new_handler(OutOfMemory::Refused);
}

std::terminate_handler InstallTerminate() {
  const std::terminate_handler former = std::get_terminate();
  if (former != OnTerminate) {
    terminate_otherwise.store(former, std::memory_order_relaxed);
    std::set_terminate(OnTerminate);
  }
  return former;
}

}  // namespace

OutOfMemory::OutOfMemory(LogFormat format, int exit_status)
    : former_(Install(format, exit_status)),
      former_terminate_(InstallTerminate()) {}

OutOfMemory::~OutOfMemory() {
  std::set_terminate(former_terminate_);
  std::set_new_handler(former_);
}

void OutOfMemory::HandleFromNowOn(int exit_status) {
  Install(LogFormat::kConsole, exit_status);
  InstallTerminate();
}

void OutOfMemory::Refused() {
  if (runtime::RunningCodeHere()) throw std::bad_alloc();
  End(kRefusedDaemon);
}

}  // namespace actord::daemon

// gRPC's allocations for the whole program. They stand in this file because the
// linker takes them only together with code that the program names. gpr_free,
// and the aligned functions that call gpr_malloc, stay those of gRPC.
namespace {

// Returns `memory`, which gRPC has allocated, or ends the program. Never throws
// an exception, which gRPC's own code is not prepared for.
void* Granted(void* memory) {
  if (memory == nullptr) actord::daemon::End(actord::daemon::kRefusedDaemon);
  return memory;
}

}  // namespace

extern "C" {

void* gpr_malloc(size_t size) {
  return size == 0 ? nullptr : Granted(std::malloc(size));
}

void* gpr_zalloc(size_t size) {
  return size == 0 ? nullptr : Granted(std::calloc(size, 1));
}

void* gpr_realloc(void* former, size_t size) {
  if (size == 0 && former == nullptr) return nullptr;
  return Granted(std::realloc(former, size));
}

}  // extern "C"

namespace grpc_event_engine::experimental {
namespace {

// Stands before the bytes of a slice, in the same memory.
struct alignas(std::max_align_t) SliceMemory {
  std::shared_ptr<internal::MemoryAllocatorImpl> allocator;
  size_t size = 0;  // bytes that are reserved, with this struct

  static void Free(void* self) {
    auto* const memory = static_cast<SliceMemory*>(self);
    const auto allocator = std::move(memory->allocator);
    const size_t size = memory->size;
    memory->~SliceMemory();
    std::free(self);
    allocator->Release(size);
  }
};

}  // namespace

// gRPC 1.51 writes to the memory of a slice without a look at whether it got
// any.
grpc_slice MemoryAllocator::MakeSlice(MemoryRequest request) {
  const size_t size = Reserve(request.Increase(sizeof(SliceMemory)));
  void* const memory = Granted(std::malloc(size));
  new (memory) SliceMemory{allocator_, size};
  return grpc_slice_new_with_user_data(
      static_cast<std::byte*>(memory) + sizeof(SliceMemory),
      size - sizeof(SliceMemory), &SliceMemory::Free, memory);
}

}  // namespace grpc_event_engine::experimental
