// The option for labels.
//
// Thread-safety: pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actord/v1/process.pb.h"

namespace actord::client {

// Adds -l, which selects processes by their labels.
inline void AddLabelFilter(CLI::App& command,
                           std::vector<std::string>& labels) {
  command
      .add_option("-l,--label", labels,
                  "Only processes with this label; without a VALUE, with any "
                  "value. Several are combined with and, at most 8")
      ->type_name("KEY[=VALUE]")
      ->allow_extra_args(false);
}

// Reads KEY=VALUE texts into the labels of the request. A usage error names the
// text that is none, or a key that comes twice.
absl::Status ReadLabels(const std::vector<std::string>& texts,
                        v1::SubmitRequest& request);

}  // namespace actord::client
