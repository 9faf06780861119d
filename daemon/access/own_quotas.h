// The quotas that tokens set for their owners.
//
// Thread-safety: pure functions.
#pragma once

#include "daemon/settings/config.h"
#include "identity/quotas.h"

namespace actord::daemon {

// `settings`, overridden by the quotas of `own`.
QuotaSettings Overridden(QuotaSettings settings,
                         const identity::TokenQuotas& own);

// The larger number of each quota.
QuotaSettings Largest(QuotaSettings a, const QuotaSettings& b);

}  // namespace actord::daemon
