// The route of links to yields, /v1/links/LINK (daemon/links/).
//
// GET shows a page and completes nothing, because programs that look for
// harmful mail follow links. POST completes the yield, through the gate, as a
// call by a link (call_source.h). Neither needs a token.
//
// Thread-safety: any thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <optional>

#include "daemon/admin/admin_request.h"
#include "daemon/api/call_form.h"
#include "daemon/links/yield_links.h"
#include "daemon/log/logging.h"

namespace actord::daemon {

// A form of a browser has a few bytes.
inline constexpr size_t kMaxLinkBodyBytes = 1024;

// The call of a request for the path of a link; nullopt: `answer` is the
// answer. Borrows the logger, for a line that says who has made the link.
std::optional<FormedCall> FindLinkRoute(
    const google::protobuf::ServiceDescriptor& service, const YieldLinks& links,
    Logger& logger, const AdminRequest& request, AdminAnswer& answer);

}  // namespace actord::daemon
