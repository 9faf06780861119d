// What a daemon says of itself and of its processes at one moment.
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
  // Look at no more than so many processes.
  uint64_t max_processes = 10'000;
  // Only at processes of this type; "" is all.
  std::string process_type = {};
};

struct Sample {
  v1::GetStatusResponse status;
  // The first of them, in the daemon's order, which does not change while they
  // live. What starts or ends while the pages are fetched may be missing.
  std::vector<v1::Process> processes;
  // There are no others than `processes`.
  bool complete = false;
  SampleRequest request;
};

// Asks for the status first, so that ages and rates are of the beginning of the
// list. `options` is called for each call.
absl::StatusOr<Sample> TakeSample(Client& client, const SampleRequest& request,
                                  const std::function<CallOptions()>& options);

}  // namespace actord::client::top
