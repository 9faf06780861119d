#include "daemon/api/routes/short_routes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/http_status.h"
#include "daemon/api/routes/short_forms.h"
#include "identity/names/nearest.h"

namespace actord::daemon {
namespace {

constexpr std::string_view kProcesses = "/v1/processes/";
constexpr std::string_view kYields = "/v1/yields/";
// Lists, without a segment.
constexpr std::string_view kProcessList = "/v1/processes";
constexpr std::string_view kYieldList = "/v1/yields";
constexpr std::string_view kCallList = "/v1/calls";

// The prefix of a route; "": the path has none.
std::string_view PrefixOf(std::string_view path) {
  for (const std::string_view prefix : {kProcesses, kYields}) {
    if (path.starts_with(prefix)) return prefix;
  }
  for (const std::string_view list : {kProcessList, kYieldList, kCallList}) {
    if (path == list) return list;
  }
  return "";
}

struct Route {
  std::string_view prefix;
  std::string_view method;  // of HTTP
  // The segments after the prefix; "": any text.
  std::array<std::string_view, 3> segments;
  size_t count;
  const char* rpc;
  bool may_wait;  // the client may say how long it waits
  std::unique_ptr<CallForm> (*form)(ShortParts);
};

constexpr std::array kRoutes = {
    Route{
        kProcessList, "GET", {}, 0, "ListProcesses", false, ListProcessesForm},
    Route{kProcesses, "POST", {""}, 1, "Submit", true, SubmitForm},
    Route{kProcesses, "GET", {""}, 1, "GetProcess", false, GetProcessForm},
    Route{kProcesses, "DELETE", {""}, 1, "Cancel", false, CancelForm},
    Route{kProcesses, "GET", {"", "outcome"}, 2, "Await", true, OutcomeForm},
    Route{kProcesses, "POST", {"", "messages", ""}, 3, "Send", false, SendForm},
    Route{
        kProcesses, "POST", {"", "call", ""}, 3, "Call", true, CallProcessForm},
    Route{kYields,
          "POST",
          {"", "result"},
          2,
          "CompleteYield",
          false,
          CompleteForm},
    Route{kYields,
          "POST",
          {"", "error"},
          2,
          "CompleteYield",
          false,
          CompleteForm},
    Route{kYieldList, "GET", {}, 0, "ListYields", false, ListYieldsForm},
    Route{kCallList, "GET", {}, 0, "ListCalls", false, ListCallsForm}};

bool IsAt(const Route& route, std::string_view prefix,
          const std::vector<std::string>& segments) {
  if (route.prefix != prefix || route.count != segments.size()) return false;
  for (size_t i = 0; i < route.count; ++i) {
    const std::string_view segment = route.segments.at(i);
    if (segment.empty() ? segments[i].empty() : segments[i] != segment) {
      return false;
    }
  }
  return true;
}

// The segments are split before they are decoded, so that a name with a slash
// is one segment.
std::vector<std::string> SegmentsOf(std::string_view path) {
  std::vector<std::string> segments = absl::StrSplit(
      absl::string_view(path.data(), path.size()), absl::ByChar('/'));
  for (std::string& segment : segments) {
    segment = PercentDecoded(segment, Plus::kIsPlus);
  }
  return segments;
}

// The texts that a route may have in the second segment after the prefix.
std::vector<std::string> SecondSegments(std::string_view prefix) {
  std::vector<std::string> texts;
  for (const Route& route : kRoutes) {
    if (route.prefix == prefix && route.count > 1) {
      texts.emplace_back(route.segments[1]);
    }
  }
  return texts;
}

// The path with the known text that is nearest to its part at `index`, for the
// end of a message; "": none is near.
std::string MeantPath(std::vector<std::string> parts, size_t index,
                      const std::vector<std::string>& known) {
  parts[index] = identity::NearestName(parts[index], known);
  if (parts[index].empty()) return "";
  return absl::StrCat("; did you mean ", absl::StrJoin(parts, "/"), "?");
}

// The path that may be meant, for the end of a message.
std::string Meant(std::string_view path) {
  static const auto& tops = *new std::vector<std::string>{
      "processes", "yields",  "calls",       "links",
      "events",    "history", "publications"};
  const std::vector<std::string> parts = absl::StrSplit(
      absl::string_view(path.data(), path.size()), absl::ByChar('/'));
  // "", "v1", the top, its segments.
  constexpr size_t kTop = 2;
  constexpr size_t kSecond = 4;
  if (parts.size() <= kTop || parts[1] != "v1") return "";
  if (std::find(tops.begin(), tops.end(), parts[kTop]) == tops.end()) {
    return MeantPath(parts, kTop, tops);
  }
  if (parts.back().empty()) return ": leave out the slash at its end";
  if (parts.size() <= kSecond) return "";
  const std::vector<std::string> seconds = SecondSegments(PrefixOf(path));
  if (std::find(seconds.begin(), seconds.end(), parts[kSecond]) !=
      seconds.end()) {
    return "";  // the mistake is elsewhere
  }
  return MeantPath(parts, kSecond, seconds);
}

// The route; null: `refusal` is the answer.
const Route* FindRoute(const AdminRequest& request, std::string_view prefix,
                       const std::vector<std::string>& segments,
                       AdminAnswer& refusal) {
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::vector<std::string> allowed;
  for (const Route& route : kRoutes) {
    if (!IsAt(route, prefix, segments)) continue;
    if (route.method == method) return &route;
    allowed.emplace_back(route.method);
    if (route.method == "GET") allowed.emplace_back("HEAD");
  }
  if (allowed.empty()) {
    refusal = NoSuchRoute(request.path);
    return nullptr;
  }
  std::string list = absl::StrJoin(allowed, ", ");
  refusal = HttpError(kHttpMethodNotAllowed, "unimplemented",
                      absl::StrCat("use ", list, " for ", request.path));
  refusal.allow = std::move(list);
  return nullptr;
}

// How long the client is willing to wait; nullopt: the client does not say.
// Takes the parameter wait out of the query. INVALID_ARGUMENT: it is no number.
absl::StatusOr<std::optional<absl::Duration>> TakeWait(
    const AdminRequest& request, absl::Duration most, std::string& query) {
  constexpr absl::string_view kWait = "wait=";
  std::vector<std::string> pairs = absl::StrSplit(query, '&');
  std::optional<absl::Duration> wait = PreferredWait(request, most);
  std::vector<std::string> others;
  for (std::string& pair : pairs) {
    if (!absl::StartsWith(pair, kWait)) {
      others.push_back(std::move(pair));
      continue;
    }
    wait = ReadSeconds(pair.substr(kWait.size()), most);
    if (!wait.has_value()) {
      return absl::InvalidArgumentError(
          "the parameter wait must be a number of whole seconds");
    }
  }
  query = absl::StrJoin(others, "&");
  return wait;
}

}  // namespace

AdminAnswer NoSuchRoute(std::string_view path) {
  const std::string meant = Meant(path);
  return HttpError(
      kHttpNotFound, "unimplemented",
      absl::StrCat("there is no such route",
                   meant.empty() ? ": /openapi.json lists the routes, and "
                                   "each method of the service is at POST "
                                   "/actord.v1.ActorService/METHOD"
                                 : meant));
}

bool IsShortPath(std::string_view path) { return !PrefixOf(path).empty(); }

std::optional<ShortCall> FindShortRoute(
    const google::protobuf::ServiceDescriptor& service,
    const AdminRequest& request, absl::Duration most, AdminAnswer& refusal) {
  const std::string_view prefix = PrefixOf(request.path);
  std::vector<std::string> segments;
  if (prefix.ends_with('/')) {
    segments = SegmentsOf(std::string_view(request.path).substr(prefix.size()));
  }
  const Route* const route = FindRoute(request, prefix, segments, refusal);
  if (route == nullptr) return std::nullopt;
  absl::Status status = CheckEncoding(request);
  const std::vector<std::string> types = request.HeadersOf("content-type");
  if (status.ok() && types.size() > 1) {
    status = absl::InvalidArgumentError("Content-Type is given twice");
  }
  std::string query = request.query;
  std::optional<absl::Duration> wait;
  // An event stream waits until the process ends; wait is no parameter of it.
  const bool wants_events = route->form == OutcomeForm &&
                            request.method == "GET" && WantsEvents(request);
  if (status.ok() && route->may_wait && !wants_events) {
    auto taken = TakeWait(request, most, query);
    status = taken.status();
    if (status.ok()) wait = *taken;
  }
  if (!status.ok()) {
    refusal = ConnectError(status);
    return std::nullopt;
  }
  ShortParts parts{.service = service,
                   .segments = std::move(segments),
                   .query = std::move(query),
                   .content_type = types.empty() ? "" : types.front(),
                   .keys = request.HeadersOf("idempotency-key"),
                   .waits = wait.has_value(),
                   .wants_events = wants_events};
  ShortCall call;
  call.call.method = service.FindMethodByName(route->rpc);
  call.call.form = route->form(std::move(parts));
  call.patience = wait.has_value()                ? *wait
                  : call.call.form->may_be_late() ? absl::ZeroDuration()
                                                  : most;
  return call;
}

}  // namespace actord::daemon
