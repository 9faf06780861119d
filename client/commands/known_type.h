// Warns of process types that the daemon does not have.
//
// Thread-safety: as Invocation.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/invocation.h"
#include "identity/names/nearest.h"

namespace actord::client {

// Asks the daemon for its process types. If `type` is not among them, writes a
// line on standard error that names a type that may be meant, and ends with
// `consequence`. Writes nothing if the daemon does not answer, for example
// because the caller may not ask.
inline void WarnOfUnknownType(Invocation& invocation, const std::string& type,
                              const std::string& consequence) {
  const auto status = invocation.client().GetStatus({}, invocation.Quick());
  if (!status.ok()) return;
  std::vector<std::string> types;
  for (const v1::ProcessType& one : status->process_types()) {
    types.push_back(one.name());
  }
  if (std::find(types.begin(), types.end(), type) != types.end()) return;
  const std::string meant = identity::DidYouMean(type, types);
  invocation.Complain(absl::StrCat(
      "the daemon has no process type \"", type, "\"",
      meant.empty() ? " (\"actorctl status\" lists its types)" : meant,
      consequence));
}

}  // namespace actord::client
