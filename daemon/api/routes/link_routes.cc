#include "daemon/api/routes/link_routes.h"

#include <actord/text.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "actord/v1/yield.pb.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/http_status.h"
#include "daemon/api/routes/link_pages.h"
#include "daemon/log/client_address.h"
#include "runtime/process/pid.h"

namespace actord::daemon {
namespace {

// Completes the yield of a link with one of its values.
class LinkForm final : public CallForm {
 public:
  LinkForm(YieldLink link, std::string value, std::string address,
           Logger& logger)
      : link_(std::move(link)),
        value_(std::move(value)),
        address_(std::move(address)),
        logger_(logger) {}

  absl::Status Read(std::string /*body*/,
                    google::protobuf::Message* request) override {
    auto& complete = static_cast<v1::CompleteYieldRequest&>(*request);
    complete.set_token(runtime::FormatYieldToken(link_.yield));
    v1::Payload& result = *complete.mutable_result();
    if (!link_.values.empty()) {
      result.set_data(nlohmann::json(value_).dump());
      result.set_content_type("application/json");
    }
    return absl::OkStatus();
  }

  // Logs the answer, also if the client has gone. A refusal has changed
  // nothing, and has no line: the holder of a link could fill the log.
  void Finished(const absl::Status& status, const std::string& bytes) override {
    if (!status.ok()) return;
    Log(v1::CompleteYieldResponse::Answer_Name(AnswerOf(bytes)));
  }

  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    switch (AnswerOf(bytes)) {
      case v1::CompleteYieldResponse::ANSWER_ACCEPTED:
        return DonePage(value_);
      case v1::CompleteYieldResponse::ANSWER_DUPLICATE:
      case v1::CompleteYieldResponse::ANSWER_CONFLICT:
        return AnsweredYieldPage();
      case v1::CompleteYieldResponse::ANSWER_EXPIRED:
        return EndedYieldPage();
      default:
        return UnknownYieldPage();
    }
  }

  // The process has no room, the disk is full, the daemon ends.
  AdminAnswer Refuse(const absl::Status& /*error*/) override {
    AdminAnswer answer = TextPage(
        kHttpUnavailable, "This cannot be answered now",
        "Try again in a minute. However often you try, one answer counts.");
    answer.headers.emplace_back("Retry-After", "60");
    return answer;
  }

 private:
  static v1::CompleteYieldResponse::Answer AnswerOf(const std::string& bytes) {
    v1::CompleteYieldResponse response;
    response.ParseFromString(bytes);
    return response.answer();
  }

  void Log(const std::string& result) const {
    const std::string value =
        link_.values.empty()
            ? ""
            : absl::StrCat(" value: ", nlohmann::json(value_).dump());
    const std::string pid = runtime::FormatPid(link_.yield.pid);
    logger_.Info(absl::StrCat("audit: CompleteYield {pid: \"", pid, "\"", value,
                              "} by a link of ", link_.maker, ", used from ",
                              address_, ": ", result),
                 {.pid = pid,
                  .client = link_.maker,
                  .method = "CompleteYield",
                  .peer = address_,
                  .code = result});
  }

  const YieldLink link_;
  const std::string value_;
  const std::string address_;
  Logger& logger_;
};

AdminAnswer ShowPage(const YieldLinks& links, const YieldLink& link) {
  switch (links.Fate(link)) {
    case runtime::YieldFate::kWaiting:
      return AskPage(link);
    case runtime::YieldFate::kAnswered:
      return AnsweredYieldPage();
    case runtime::YieldFate::kEnded:
      return EndedYieldPage();
    case runtime::YieldFate::kUnknown:
      break;
  }
  return UnknownYieldPage();
}

// The value that the form names; nullopt: none that the link offers.
std::optional<std::string> ChosenValue(const YieldLink& link,
                                       const std::string& body) {
  if (link.values.empty()) return "";
  const absl::StatusOr<Parameters> parameters = ReadParameters(body);
  if (!parameters.ok()) return std::nullopt;
  for (const auto& [name, text] : *parameters) {
    uint32_t index = 0;
    if (name == "value" && absl::SimpleAtoi(text, &index) &&
        index < link.values.size()) {
      return link.values[index];
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<FormedCall> FindLinkRoute(
    const google::protobuf::ServiceDescriptor& service, const YieldLinks& links,
    Logger& logger, const AdminRequest& request, AdminAnswer& answer) {
  const bool is_post = request.method == "POST";
  if (!is_post && request.method != "GET" && request.method != "HEAD") {
    answer = TextPage(kHttpMethodNotAllowed, "Open this link in a browser",
                      "A browser shows what can be answered.");
    answer.allow = "GET, HEAD, POST";
    return std::nullopt;
  }
  std::optional<YieldLink> link =
      links.Read(std::string_view(request.path).substr(kLinkPath.size()));
  if (!link.has_value()) {
    answer = InvalidLinkPage();
    return std::nullopt;
  }
  if (links.IsExpired(*link)) {
    answer = ExpiredLinkPage();
    return std::nullopt;
  }
  // A link that is used again begins no call, however often.
  if (!is_post || links.Fate(*link) != runtime::YieldFate::kWaiting) {
    answer = ShowPage(links, *link);
    return std::nullopt;
  }
  std::optional<std::string> value = ChosenValue(*link, request.body);
  if (!value.has_value()) {
    answer = TextPage(kHttpBadRequest, "No answer was chosen",
                      "Nothing was changed. Open the link, and press one of "
                      "its buttons.");
    return std::nullopt;
  }
  return FormedCall{
      .method = service.FindMethodByName("CompleteYield"),
      .form = std::make_unique<LinkForm>(*std::move(link), *std::move(value),
                                         ClientAddress(request.peer), logger)};
}

}  // namespace actord::daemon
