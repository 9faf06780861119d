#include "daemon/api/foreign_page.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "daemon/api/http_fields.h"

namespace actord::daemon {

bool IsForeignPage(const AdminRequest& request) {
  // Browsers say so also for requests that have no Origin.
  for (const std::string& site : request.HeadersOf("sec-fetch-site")) {
    if (site != "same-origin" && site != "none") return true;
  }
  const std::vector<std::string> origins = request.HeadersOf("origin");
  if (origins.empty()) return false;
  const std::string origin = absl::AsciiStrToLower(origins.front());
  const std::string host = absl::AsciiStrToLower(ValueOf(request, "host"));
  return origins.size() != 1 || host.empty() ||
         (origin != absl::StrCat("http://", host) &&
          origin != absl::StrCat("https://", host));
}

}  // namespace actord::daemon
