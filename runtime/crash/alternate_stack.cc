#include "runtime/crash/alternate_stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

bool ThreadNeedsOne() {
#ifdef ACTORD_FAIL_POINTS
  if (interleaver != nullptr) return false;
#endif
  stack_t current{};
  return sigaltstack(nullptr, &current) == 0 &&
         (current.ss_flags & SS_DISABLE) != 0;
}

size_t RoundedUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

AlternateStack::AlternateStack() {
  if (!ThreadNeedsOne()) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // The kernel stores the processor's registers there; some processors have
  // many registers.
  const long registers = std::max(0L, sysconf(_SC_MINSIGSTKSZ));
  const size_t usable =
      RoundedUp(kMinBytes + static_cast<size_t>(registers), page);
  void* const memory =
      mmap(nullptr, page + usable, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = static_cast<char*>(memory) + page;
  stack.ss_size = usable;
  if (mprotect(stack.ss_sp, usable, PROT_READ | PROT_WRITE) != 0 ||
      sigaltstack(&stack, nullptr) != 0) {
    munmap(memory, page + usable);
    return;
  }
  memory_ = memory;
  bytes_ = page + usable;
}

AlternateStack::~AlternateStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, bytes_);
}

}  // namespace actord::runtime
