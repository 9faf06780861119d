#include "runtime/system/assert.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace actord::runtime {

void BrokenInvariant(const char* condition, const char* invariant,
                     const char* file, int line) noexcept {
  // One write keeps the line whole among the lines of other threads. Nothing is
  // allocated, because the heap may be damaged.
  char text[512];
  const int length = std::snprintf(text, sizeof(text),
                                   "actord: broken invariant: %s: %s (%s:%d)\n",
                                   invariant, condition, file, line);
  size_t bytes = length < 0 ? 0 : static_cast<size_t>(length);
  if (bytes >= sizeof(text)) {
    bytes = sizeof(text) - 1;
    text[bytes - 1] = '\n';
  }
  // A failed write cannot be reported.
  static_cast<void>(!::write(STDERR_FILENO, text, bytes));
  std::abort();
}

}  // namespace actord::runtime
