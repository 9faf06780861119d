#include "daemon/admin/admin_pages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace actord::daemon {
namespace {

constexpr unsigned kOk = 200;
constexpr unsigned kNotFound = 404;
constexpr unsigned kMethodNotAllowed = 405;

constexpr const char* kJsonType = "application/json";
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

AdminAnswer HealthAnswer(const HealthReport& report, bool as_json) {
  AdminAnswer answer;
  const bool ok = report.problems.empty();
  answer.status = ok ? kOk : kServiceUnavailable;
  if (as_json) {
    answer.content_type = kJsonType;
    answer.body =
        nlohmann::json{
            {"ok", ok}, {"problems", report.problems}, {"notes", report.notes}}
            .dump();
    answer.body += '\n';
    return answer;
  }
  if (ok) answer.body = "ok\n";
  for (const std::string& problem : report.problems) {
    absl::StrAppend(&answer.body, "problem: ", problem, "\n");
  }
  for (const std::string& note : report.notes) {
    absl::StrAppend(&answer.body, "note: ", note, "\n");
  }
  return answer;
}

// The quality of a media range such as "text/*;q=0.5".
double QualityOf(absl::string_view range) {
  for (const absl::string_view parameter : absl::StrSplit(range, ';')) {
    absl::string_view text = absl::StripAsciiWhitespace(parameter);
    double quality = 0;
    if (absl::StartsWithIgnoreCase(text, "q=") &&
        absl::SimpleAtod(text.substr(2), &quality)) {
      return quality;
    }
  }
  return 1;
}

}  // namespace

bool PrefersJson(std::string_view accept) {
  double json = 0;
  double text = 0;
  for (const absl::string_view range :
       absl::StrSplit(absl::string_view(accept.data(), accept.size()), ',')) {
    const std::string type = absl::AsciiStrToLower(
        absl::StripAsciiWhitespace(range.substr(0, range.find(';'))));
    const double quality = QualityOf(range);
    if (type == kJsonType) json = std::max(json, quality);
    if (type == "text/plain" || type == "text/*") {
      text = std::max(text, quality);
    }
  }
  return json > text;
}

AdminAnswer AdminPages::Answer(const AdminRequest& request,
                               const AdminCounts& counts) const {
  AdminAnswer answer;
  const bool is_known = request.path == "/healthz" ||
                        request.path == "/readyz" || request.path == "/metrics";
  if (!is_known) {
    answer.status = kNotFound;
    answer.body =
        "not found: the admin port has /healthz, /readyz and /metrics, and "
        "with admin.api also /console/, /openapi.json and the paths of the "
        "API\n";
    return answer;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    answer.status = kMethodNotAllowed;
    answer.allow = "GET, HEAD";
    answer.body = absl::StrCat("use GET for ", request.path, "\n");
    return answer;
  }
  if (request.path == "/metrics") {
    answer.content_type = kMetricsType;
    answer.body = sources_.metrics(counts);
    return answer;
  }
  return HealthAnswer(
      request.path == "/healthz" ? sources_.health() : sources_.readiness(),
      PrefersJson(request.accept));
}

}  // namespace actord::daemon
