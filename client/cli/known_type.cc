#include "client/cli/known_type.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace actord::client {

void WarnOfUnknownType(Invocation& invocation, const std::string& type,
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
