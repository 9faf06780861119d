// Describes the short routes (short_routes.h) for OpenAPI. A part of the build.
//
// Thread-safety: one thread.
#pragma once

#include "daemon/api/openapi/schemas.h"

namespace actord::daemon {

void AddShortPaths(const ServiceDescriptor& service, Schemas& schemas,
                   Json& paths);

}  // namespace actord::daemon
