// A sample: the state of a daemon and of its processes at one moment.
//
// Thread-safety: TakeSample may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/calls/client.h"

namespace actord::client::top {

struct SampleRequest {
  // Maximum number of processes in the sample.
  uint64_t max_processes = 10'000;
  // Only processes of this type; "": all.
  std::string process_type = {};
};

struct Sample {
  v1::GetStatusResponse status;
  // The first processes in the daemon's order, which does not change while they
  // live. A process that starts or ends while the pages are fetched may be
  // missing.
  std::vector<v1::Process> processes;
  // `processes` holds all processes.
  bool complete = false;
  SampleRequest request;
};

// Asks for the status first, so that ages and rates belong to the beginning of
// the list. `options` is called for each RPC.
absl::StatusOr<Sample> TakeSample(Client& client, const SampleRequest& request,
                                  const std::function<CallOptions()>& options);

}  // namespace actord::client::top
