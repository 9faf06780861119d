// The fields of one process, for people.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "actord/v1/process.pb.h"

namespace actord::client {

// "VOLATILE", "DURABLE", or "-" from a daemon that does not report it.
std::string DurabilityText(const v1::Process& process);

// "a=1,b=2", in the order of the keys; "": none.
std::string LabelsText(const v1::Process& process);

// Names and values for WriteFields. `now` is the time from which the age is
// computed.
std::vector<std::pair<std::string, std::string>> ProcessFields(
    const v1::Process& process, absl::Time now);

}  // namespace actord::client
