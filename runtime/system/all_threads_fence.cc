#include "runtime/system/all_threads_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

bool Membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool CanFenceAllThreads() {
  static const bool registered =
      Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return registered;
}

void FenceAllThreads() {
  // It cannot fail after the registration. Without the fence, no order of
  // accesses would be certain.
  const bool fenced = Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  ACTORD_ASSERT(fenced, "all_threads_fence.h: this process can fence");
}

}  // namespace actord::runtime
