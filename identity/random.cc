#include "identity/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace actord::identity {

absl::Status FillRandom(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::InternalError(absl::StrCat(
          "the system gives no random bytes: ", std::strerror(errno)));
    }
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace actord::identity
