// How long a processor that has nothing to do may take to go on when there is
// work for it, as a wish to the kernel: PM QoS, "CPU latency"
// (Documentation/power/pm_qos_interface.rst of Linux). The kernel heeds the
// shortest of all wishes, for every processor of the machine: with 0 they poll
// instead of sleeping, which costs power and, on a virtual machine, the host's
// time, but none of this program's.
//
// Thread-safety: an object needs none. Ownership: owns a descriptor.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::runtime {

class CpuLatency {
 public:
  static constexpr const char* kDevice = "/dev/cpu_dma_latency";
  static constexpr absl::Duration kLeast = absl::Microseconds(1);
  static constexpr absl::Duration kMost = absl::Seconds(1);

  // The wish is in force while the object lives. `most`: 0, or from kLeast to
  // kMost; parts of a microsecond are dropped. FAILED_PRECONDITION: the device
  // cannot be written.
  static absl::StatusOr<std::unique_ptr<CpuLatency>> Request(
      absl::Duration most, const char* device = kDevice);
  ~CpuLatency();
  CpuLatency(const CpuLatency&) = delete;
  CpuLatency& operator=(const CpuLatency&) = delete;

 private:
  explicit CpuLatency(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
};

}  // namespace actord::runtime
