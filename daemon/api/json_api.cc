#include "daemon/api/json_api.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/foreign_page.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/http_status.h"
#include "daemon/api/json_call.h"
#include "daemon/api/routes/link_routes.h"
#include "daemon/api/routes/short_routes.h"
#include "identity/names/nearest.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr std::string_view kOpenApiPath = "/openapi.json";
// All paths of methods, and all other paths of calls, begin so.
constexpr std::string_view kServicePaths = "/actord.";
constexpr std::string_view kRoutePaths = "/v1/";
constexpr std::string_view kEventsPath = "/v1/events";
constexpr std::string_view kHistoryPath = "/v1/history";
constexpr std::string_view kPublicationsPath = "/v1/publications";

// The method whose responses are the events of the path; null: it has none.
const char* StreamAt(std::string_view path) {
  if (path == kEventsPath) return "WatchProcesses";
  if (path == kHistoryPath) return "ReadHistory";
  return path == kPublicationsPath ? "Subscribe" : nullptr;
}

// For what JSON has around the bytes of a request.
constexpr size_t kJsonBytes = 64 << 10;

// A call that is answered before it begins.
class AnsweredCall final : public AdminCall {
 public:
  void End(Why /*why*/) override {}
  [[nodiscard]] std::chrono::milliseconds patience() const override {
    return std::chrono::hours(1);
  }
};

AdminAnswer ForeignPage() {
  return HttpError(kHttpForbidden, "permission_denied",
                   "pages of other sites may not call the daemon");
}

std::shared_ptr<AdminCall> Answered(const AdminCalls::Done& done,
                                    AdminAnswer answer) {
  done(std::move(answer));
  return std::make_shared<AnsweredCall>();
}

// The field of the request that is a list, and the parameter for one item.
// Empty: there is none.
struct ListParameter {
  std::string field = {};
  std::string item = {};
};

ListParameter ListParameterOf(std::string_view path) {
  if (path == kPublicationsPath) return {"patterns", "pattern"};
  if (path == kEventsPath) return {"labels", "label"};
  return {};
}

// The request of an event stream: the query's parameters are its fields. A list
// has a parameter in the singular for each item. A browser that watches again
// sends the id of the last event.
absl::StatusOr<std::string> StreamRequestOf(const AdminRequest& request) {
  nlohmann::json fields = nlohmann::json::object();
  const ListParameter list = ListParameterOf(request.path);
  absl::StatusOr<Parameters> parameters =
      ReadParameters(request.query, list.item);
  if (!parameters.ok()) return parameters.status();
  for (const auto& [name, value] : *parameters) {
    const bool has_list = !list.field.empty();
    if (has_list && name == list.field) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter ", list.field, " is not known; use ",
                       list.item, ", once for each value"));
    }
    if (has_list && name == list.item) {
      fields[list.field].push_back(value);
      // Texts are no truth values in JSON.
    } else if (value == "true" || value == "false") {
      fields[name] = value == "true";
    } else {
      fields[name] = value;
    }
  }
  if (fields.contains("resume_token") && fields.contains("resumeToken")) {
    return absl::InvalidArgumentError(
        "the parameter resumeToken is given twice");
  }
  const std::string last = ValueOf(request, "last-event-id");
  if (!last.empty()) {
    fields.erase("resume_token");
    fields["resumeToken"] = last;
  }
  return fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The method that may be meant, for the end of a message.
std::string MeantMethod(const google::protobuf::ServiceDescriptor& service,
                        const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < service.method_count(); ++i) {
    known.push_back(service.method(i)->name());
  }
  const std::string meant = identity::DidYouMean(name, known);
  return meant.empty() ? ": see /openapi.json" : meant;
}

absl::Status CheckConnect(const AdminRequest& request) {
  absl::Status status = CheckEncoding(request);
  if (!status.ok()) return status;
  const std::vector<std::string> versions =
      request.HeadersOf("connect-protocol-version");
  if (!versions.empty() && versions.front() != "1") {
    return absl::InvalidArgumentError("Connect-Protocol-Version must be 1");
  }
  return absl::OkStatus();
}

}  // namespace

JsonApi::JsonApi(const RoutedService& service, const runtime::Clock& clock,
                 const Options& options)
    : service_(service),
      clock_(clock),
      options_(options),
      prefix_(absl::StrCat("/", service.descriptor().full_name(), "/")),
      open_(options.max_calls) {}

absl::StatusOr<std::unique_ptr<JsonApi>> JsonApi::Start(
    const RoutedService& service, const runtime::Clock& clock,
    const Options& options) {
  std::unique_ptr<JsonApi> api(new JsonApi(service, clock, options));
  absl::Status status = api->thread_->Start();
  if (!status.ok()) return status;
  return api;
}

bool JsonApi::Takes(std::string_view path) const {
  return path == kOpenApiPath || path.starts_with(kServicePaths) ||
         path.starts_with(kRoutePaths) || IsLink(path);
}

size_t JsonApi::max_body_bytes() const {
  return options_.max_request_bytes / 3 * 4 + kJsonBytes;
}

size_t JsonApi::MaxBodyBytesOf(std::string_view path) const {
  return IsLink(path) ? kMaxLinkBodyBytes : max_body_bytes();
}

AdminAnswer JsonApi::OpenApi(const AdminRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    AdminAnswer answer = HttpError(kHttpMethodNotAllowed, "unimplemented",
                                   "use GET for /openapi.json");
    answer.allow = "GET, HEAD";
    return answer;
  }
  AdminAnswer answer;
  answer.content_type = "application/json";
  answer.body = options_.openapi;
  return answer;
}

const google::protobuf::MethodDescriptor* JsonApi::FindMethod(
    const AdminRequest& request, AdminAnswer& refusal) const {
  const std::string name = request.path.substr(prefix_.size());
  const auto* const method = service_.descriptor().FindMethodByName(name);
  if (method == nullptr) {
    refusal = HttpError(
        kHttpNotFound, "unimplemented",
        absl::StrCat(service_.descriptor().full_name(), " has no such method",
                     MeantMethod(service_.descriptor(), name)));
    return nullptr;
  }
  if (method->client_streaming() || method->server_streaming()) {
    refusal = HttpError(kHttpNotImplemented, "unimplemented",
                        absl::StrCat(name,
                                     " is a stream: use gRPC, /v1/events to "
                                     "watch processes, /v1/history, or "
                                     "/v1/publications to subscribe"));
    return nullptr;
  }
  if (request.method != "POST") {
    refusal = HttpError(kHttpMethodNotAllowed, "unimplemented",
                        absl::StrCat("use POST for ", request.path));
    refusal.allow = "POST";
    return nullptr;
  }
  if (IsForeignPage(request)) {
    refusal = ForeignPage();
    return nullptr;
  }
  if (!IsJson(request)) {
    refusal = HttpError(kHttpUnsupportedMediaType, "invalid_argument",
                        "Content-Type must be application/json");
    refusal.headers.emplace_back("Accept-Post", "application/json");
    return nullptr;
  }
  return method;
}

absl::Status JsonApi::Full() const {
  return runtime::Retryable(
      absl::StatusCode::kResourceExhausted, "",
      absl::StrCat("the JSON API has ", open_.max(), " open calls, its limit"),
      absl::Seconds(1));
}

std::shared_ptr<AdminCall> JsonApi::Begin(AdminRequest request, Done done) {
  if (request.path == kOpenApiPath) return Answered(done, OpenApi(request));
  if (StreamAt(request.path) != nullptr) {
    return BeginEvents(request, std::move(done));
  }
  if (IsLink(request.path)) {
    return BeginLink(std::move(request), std::move(done));
  }
  if (request.path.starts_with(prefix_)) {
    return BeginMethod(std::move(request), std::move(done));
  }
  if (IsShortPath(request.path)) {
    return BeginShort(std::move(request), std::move(done));
  }
  return Answered(done, NoSuchRoute(request.path));
}

std::shared_ptr<AdminCall> JsonApi::BeginShort(AdminRequest request,
                                               Done done) {
  AdminAnswer refusal;
  std::optional<ShortCall> call = FindShortRoute(
      service_.descriptor(), request, options_.max_patience, refusal);
  if (!call.has_value()) return Answered(done, std::move(refusal));
  if (IsForeignPage(request)) return Answered(done, ForeignPage());
  HttpSource source = SourceOf(request);
  return BeginCall(std::move(call->call), call->patience, std::move(source),
                   std::move(request.body), std::move(done));
}

// A link may be followed from any page: nothing but the link gives the right,
// and no page can make a browser add anything to it.
std::shared_ptr<AdminCall> JsonApi::BeginLink(AdminRequest request, Done done) {
  AdminAnswer page;
  std::optional<FormedCall> call = FindLinkRoute(
      service_.descriptor(), *options_.links, *options_.logger, request, page);
  if (!call.has_value()) return Answered(done, std::move(page));
  HttpSource source;
  source.peer = request.peer;
  source.is_by_link = true;
  return BeginCall(*std::move(call), options_.max_patience, std::move(source),
                   {}, std::move(done));
}

std::shared_ptr<AdminCall> JsonApi::BeginCall(FormedCall call,
                                              absl::Duration patience,
                                              HttpSource source,
                                              std::string body, Done done) {
  std::optional<OpenCalls::Place> place = open_.Take();
  if (!place.has_value()) return Answered(done, call.form->Refuse(Full()));
  source.deadline =
      absl::FromUnixNanos(static_cast<int64_t>(clock_.UnixNs())) + patience;
  const auto begun = std::make_shared<JsonCall>(
      thread_, JsonCall::Order{.call = std::move(call),
                               .source = std::move(source),
                               .body = std::move(body),
                               .patience = patience,
                               .place = *std::move(place),
                               .done = std::move(done)});
  begun->Begin(service_);
  return begun;
}

std::shared_ptr<AdminCall> JsonApi::BeginMethod(AdminRequest request,
                                                Done done) {
  AdminAnswer refusal;
  const auto* const method = FindMethod(request, refusal);
  if (method == nullptr) return Answered(done, std::move(refusal));
  const absl::Status status = CheckConnect(request);
  if (!status.ok()) return Answered(done, ConnectError(status));
  const auto patience = ReadPatience(request, options_.max_patience);
  if (!patience.ok()) return Answered(done, ConnectError(patience.status()));
  HttpSource source = SourceOf(request);
  return BeginCall(
      {.method = method, .form = std::make_unique<JsonForm>(*method)},
      *patience, std::move(source), std::move(request.body), std::move(done));
}

std::shared_ptr<AdminCall> JsonApi::BeginEvents(const AdminRequest& request,
                                                Done done) {
  if (request.method != "GET") {
    AdminAnswer refusal = HttpError(kHttpMethodNotAllowed, "unimplemented",
                                    absl::StrCat("use GET for ", request.path));
    refusal.allow = "GET";
    return Answered(done, std::move(refusal));
  }
  if (IsForeignPage(request)) return Answered(done, ForeignPage());
  const absl::StatusOr<std::string> body = StreamRequestOf(request);
  if (!body.ok()) return Answered(done, ConnectError(body.status()));
  std::optional<OpenCalls::Place> place = open_.Take();
  if (!place.has_value()) return Answered(done, ConnectError(Full()));
  const auto call = std::make_shared<EventCall>(
      thread_,
      EventCall::Order{
          .method =
              service_.descriptor().FindMethodByName(StreamAt(request.path)),
          .source = SourceOf(request),
          .body = *body,
          .place = *std::move(place),
          .done = std::move(done),
          .begun =
              [this](std::shared_ptr<EventCall> begun) {
                EventCall* const key = begun.get();
                events_.emplace(key, std::move(begun));
              },
          .ended = [this](EventCall* ended) { events_.erase(ended); }});
  call->Begin(service_);
  return call;
}

void JsonApi::Stop() {
  thread_->Stop();
  for (const auto& [key, call] : events_) call->Abandon();
  events_.clear();
}

}  // namespace actord::daemon
