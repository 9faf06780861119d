// A request to the kernel that limits the wake-up latency of idle processors:
// PM QoS, "CPU latency" (Documentation/power/pm_qos_interface.rst of Linux).
// The kernel applies the smallest of all requests to every processor of the
// machine. With 0, idle processors poll instead of sleeping. Polling costs
// power and, on a virtual machine, the host's processor time, but no processor
// time of this program.
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

  // The request is in force during the object's lifetime. `most`: 0, or from
  // kLeast to kMost, rounded down to microseconds. FAILED_PRECONDITION: the
  // device cannot be written.
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
