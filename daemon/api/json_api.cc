#include "daemon/api/json_api.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/json_call.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr unsigned kForbidden = 403;
constexpr unsigned kNotFound = 404;
constexpr unsigned kMethodNotAllowed = 405;
constexpr unsigned kUnsupportedMediaType = 415;
constexpr unsigned kNotImplemented = 501;

constexpr std::string_view kOpenApiPath = "/openapi.json";
constexpr std::string_view kEventsPath = "/v1/events";
constexpr std::string_view kHistoryPath = "/v1/history";
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

// The only value of the header; "": there is none, or more than one.
std::string ValueOf(const AdminRequest& request, std::string_view name) {
  std::vector<std::string> values = request.HeadersOf(name);
  return values.size() == 1 ? std::move(values.front()) : std::string();
}

bool IsJson(const AdminRequest& request) {
  const std::string type =
      absl::AsciiStrToLower(ValueOf(request, "content-type"));
  absl::string_view rest = type;
  if (!absl::ConsumePrefix(&rest, "application/json")) return false;
  rest = absl::StripAsciiWhitespace(rest);
  if (rest.empty()) return true;
  if (!absl::ConsumePrefix(&rest, ";")) return false;
  rest = absl::StripAsciiWhitespace(rest);
  return rest == "charset=utf-8" || rest == "charset=\"utf-8\"";
}

// No page of another site may call, whatever the browser permits it. A page of
// this port may.
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

AdminAnswer ForeignPage() {
  return HttpError(kForbidden, "permission_denied",
                   "pages of other sites may not call the daemon");
}

std::shared_ptr<AdminCall> Answered(const AdminCalls::Done& done,
                                    AdminAnswer answer) {
  done(std::move(answer));
  return std::make_shared<AnsweredCall>();
}

std::string PercentDecoded(absl::string_view text) {
  constexpr size_t kEscapeBytes = 3;
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      decoded += absl::HexStringToBytes(text.substr(i + 1, kEscapeBytes - 1));
      i += kEscapeBytes - 1;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// The request of an event stream: the query's parameters are its fields. A
// browser that watches again sends the id of the last event.
absl::StatusOr<std::string> StreamRequestOf(const AdminRequest& request) {
  nlohmann::json fields = nlohmann::json::object();
  for (const absl::string_view pair :
       absl::StrSplit(request.query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    const std::string name = PercentDecoded(parts.first);
    if (fields.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter ", name, " is given twice"));
    }
    const std::string value = PercentDecoded(parts.second);
    // Texts are no truth values in JSON.
    if (value == "true" || value == "false") {
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

// Reads Connect-Timeout-Ms, which has at most ten digits; "" is `most`.
absl::StatusOr<absl::Duration> ReadPatience(const AdminRequest& request,
                                            absl::Duration most) {
  constexpr size_t kMaxDigits = 10;
  const std::vector<std::string> values =
      request.HeadersOf("connect-timeout-ms");
  if (values.empty()) return most;
  const std::string& text = values.front();
  int64_t ms = 0;
  if (values.size() > 1 || text.size() > kMaxDigits ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &ms)) {
    return absl::InvalidArgumentError(
        "Connect-Timeout-Ms must be a number of milliseconds with at most ten "
        "digits");
  }
  return std::min(absl::Milliseconds(ms), most);
}

absl::Status CheckConnect(const AdminRequest& request) {
  const std::vector<std::string> encodings =
      request.HeadersOf("content-encoding");
  if (!encodings.empty() && encodings.front() != "identity") {
    return absl::UnimplementedError(
        "Content-Encoding must be identity: the JSON API reads no compressed "
        "bodies");
  }
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
  return path == kOpenApiPath || path == kEventsPath || path == kHistoryPath ||
         path.starts_with(prefix_);
}

size_t JsonApi::max_body_bytes() const {
  return options_.max_request_bytes / 3 * 4 + kJsonBytes;
}

AdminAnswer JsonApi::OpenApi(const AdminRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    AdminAnswer answer = HttpError(kMethodNotAllowed, "unimplemented",
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
    refusal = HttpError(kNotFound, "unimplemented",
                        absl::StrCat(service_.descriptor().full_name(),
                                     " has no such method: see /openapi.json"));
    return nullptr;
  }
  if (method->client_streaming() || method->server_streaming()) {
    refusal = HttpError(kNotImplemented, "unimplemented",
                        absl::StrCat(name,
                                     " is a stream: use gRPC, /v1/events to "
                                     "watch processes, or /v1/history"));
    return nullptr;
  }
  if (request.method != "POST") {
    refusal = HttpError(kMethodNotAllowed, "unimplemented",
                        absl::StrCat("use POST for ", request.path));
    refusal.allow = "POST";
    return nullptr;
  }
  if (IsForeignPage(request)) {
    refusal = ForeignPage();
    return nullptr;
  }
  if (!IsJson(request)) {
    refusal = HttpError(kUnsupportedMediaType, "invalid_argument",
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
  return request.path == kEventsPath || request.path == kHistoryPath
             ? BeginEvents(request, std::move(done))
             : BeginMethod(std::move(request), std::move(done));
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
  std::optional<OpenCalls::Place> place = open_.Take();
  if (!place.has_value()) return Answered(done, ConnectError(Full()));
  const absl::Time now =
      absl::FromUnixNanos(static_cast<int64_t>(clock_.UnixNs()));
  const auto call = std::make_shared<JsonCall>(
      thread_, JsonCall::Order{.method = method,
                               .request = std::move(request),
                               .patience = *patience,
                               .deadline = now + *patience,
                               .place = *std::move(place),
                               .done = std::move(done)});
  call->Begin(service_);
  return call;
}

std::shared_ptr<AdminCall> JsonApi::BeginEvents(const AdminRequest& request,
                                                Done done) {
  if (request.method != "GET") {
    AdminAnswer refusal = HttpError(kMethodNotAllowed, "unimplemented",
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
          .method = service_.descriptor().FindMethodByName(
              request.path == kEventsPath ? "WatchProcesses" : "ReadHistory"),
          .source = SourceOf(request, absl::InfiniteFuture()),
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
