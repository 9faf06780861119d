// Reads requests for links to yields.
//
// Thread-safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actord/v1/yield.pb.h"
#include "daemon/links/yield_link.h"

namespace actord::daemon {

// INVALID_ARGUMENT: a field is wrong; the error names it. The maker of the link
// is empty.
absl::StatusOr<YieldLink> ReadCreateYieldLink(
    const v1::CreateYieldLinkRequest& request, absl::Time now);

}  // namespace actord::daemon
