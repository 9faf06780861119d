// Decides whether a page of another web site calls the JSON API: the protection
// against cross-site requests. Names of other sites in the header Host (DNS
// rebinding) are refused before that (daemon/admin/allowed_hosts.h).
//
// Thread-safety: pure functions.
#pragma once

#include "daemon/admin/admin_request.h"

namespace actord::daemon {

// Whether a page of another site calls. Such a page may not call, even if the
// browser would let it. A page of this port may.
bool IsForeignPage(const AdminRequest& request);

}  // namespace actord::daemon
