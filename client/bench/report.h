// Writes what "actorctl bench" has measured.
//
// Thread-safety: as the invocation's.
#pragma once

#include <string>

#include "client/bench/load.h"
#include "client/bench/requests.h"
#include "client/cli/invocation.h"
#include "client/output/json.h"

namespace actord::client::bench {

// The measured figures, and how they were measured.
struct Measurement {
  RequestOptions requests = {};
  LoadOptions load = {};
  bool is_durable = false;
  LoadResult result = {};
};

// "call", "send" or "submit".
std::string ModeName(Mode mode);

// Three digits and a unit: "870 ns", "1.23 ms", "45.6 us", "2.05 s".
std::string LatencyText(LatencyHistogram::Latency latency);

// Rates are numbers a second; times are in seconds.
Json ToJson(const Measurement& measurement);

// Writes the measurement in the format of -o.
void WriteMeasurement(Invocation& invocation, const Measurement& measurement);

}  // namespace actord::client::bench
