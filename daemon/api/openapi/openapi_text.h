// The description of the JSON API in OpenAPI 3.1, which the build generates
// from the descriptors (write_openapi.cc).
//
// Thread-safety: a constant.
#pragma once

#include <string_view>

namespace actord::daemon {

std::string_view OpenApiText();

}  // namespace actord::daemon
