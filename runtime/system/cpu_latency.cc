#include "runtime/system/cpu_latency.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace actord::runtime {
namespace {

absl::Status CannotBeHad(const char* device, const char* what, int error) {
  return absl::FailedPreconditionError(absl::StrCat(
      "cpu_latency: cannot ", what, " ", device, ": ", std::strerror(error),
      "; it takes the right to write to that device, or none as its value"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuLatency>> CpuLatency::Request(
    absl::Duration most, const char* device) {
  const int descriptor = open(device, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return CannotBeHad(device, "open", errno);
  std::unique_ptr<CpuLatency> request(new CpuLatency(descriptor));
  // Binary, in the machine's own order of bytes.
  const auto us = static_cast<int32_t>(absl::ToInt64Microseconds(most));
  const ssize_t written = write(descriptor, &us, sizeof(us));
  if (written != static_cast<ssize_t>(sizeof(us))) {
    return CannotBeHad(device, "write to", written < 0 ? errno : EIO);
  }
  return request;
}

CpuLatency::~CpuLatency() { close(descriptor_); }

}  // namespace actord::runtime
