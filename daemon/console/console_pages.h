// The console: static files under /console/, to which / leads. They are open to
// everybody who reaches the port, because they are the same for every daemon of
// a version. All data comes through the JSON API, which checks tokens.
//
// Thread-safety: pure functions.
#pragma once

#include <string_view>

#include "daemon/admin/admin_request.h"

namespace actord::daemon {

// Whether requests for this path are answered here.
bool IsConsolePath(std::string_view path);

// The answer to a request for such a path.
AdminAnswer ConsoleAnswer(const AdminRequest& request);

}  // namespace actord::daemon
