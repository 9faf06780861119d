// Warns of process types that the daemon does not have.
//
// Thread-safety: as Invocation.
#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/invocation.h"

namespace actord::client {

// Asks the daemon for its process types. If `type` is not among them, writes a
// line on standard error that ends with `consequence`. Writes nothing if the
// daemon does not answer, for example because the caller may not ask.
inline void WarnOfUnknownType(Invocation& invocation, const std::string& type,
                              const std::string& consequence) {
  const auto status = invocation.client().GetStatus({}, invocation.Quick());
  if (!status.ok()) return;
  const auto& types = status->process_types();
  if (std::any_of(types.begin(), types.end(), [&](const v1::ProcessType& one) {
        return one.name() == type;
      })) {
    return;
  }
  invocation.Complain(absl::StrCat("the daemon has no process type \"", type,
                                   "\" (\"actorctl status\" lists its types)",
                                   consequence));
}

}  // namespace actord::client
