#include "daemon/api/connect_error.h"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/api/json_text.h"
#include "daemon/wire/status_mapping.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

using nlohmann::json;

struct Code {
  const char* name;
  unsigned http_status;
};

// By the number of the code; the first one is OK, which is no error.
constexpr Code kCodes[] = {{"unknown", 500},
                           {"canceled", 499},
                           {"unknown", 500},
                           {"invalid_argument", 400},
                           {"deadline_exceeded", 504},
                           {"not_found", 404},
                           {"already_exists", 409},
                           {"permission_denied", 403},
                           {"resource_exhausted", 429},
                           {"failed_precondition", 400},
                           {"aborted", 409},
                           {"out_of_range", 400},
                           {"unimplemented", 501},
                           {"internal", 500},
                           {"unavailable", 503},
                           {"data_loss", 500},
                           {"unauthenticated", 401}};

const Code& CodeOf(int number) {
  const auto index = static_cast<size_t>(number);
  return kCodes[index < std::size(kCodes) ? index : 0];
}

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json DetailOf(const google::protobuf::Any& any) {
  const std::string& url = any.type_url();
  const std::string type = url.substr(url.rfind('/') + 1);
  std::string bytes = absl::Base64Escape(any.value());
  // Connect has no padding.
  bytes.erase(bytes.find_last_not_of('=') + 1);
  json detail{{"type", type}, {"value", std::move(bytes)}};
  std::string debug;
  if (WriteJson(type, any.value(), &debug).ok()) {
    detail["debug"] = json::parse(debug, nullptr, /*allow_exceptions=*/false);
  }
  return detail;
}

}  // namespace

AdminAnswer ConnectError(const absl::Status& status) {
  return ConnectError(ToGrpcStatus(status));
}

AdminAnswer ConnectError(const grpc::Status& error) {
  ACTORD_ASSERT(!error.ok(), "connect_error.h: the status is not OK");
  const Code& code = CodeOf(error.error_code());
  json body{{"code", code.name}, {"message", error.error_message()}};
  AdminAnswer answer;
  answer.status = code.http_status;
  answer.content_type = "application/json";
  google::rpc::Status details;
  if (details.ParseFromString(error.error_details())) {
    for (const google::protobuf::Any& any : details.details()) {
      body["details"].push_back(DetailOf(any));
      google::rpc::RetryInfo retry;
      if (any.UnpackTo(&retry)) {
        constexpr double kNanosOfASecond = 1e9;
        const double seconds =
            static_cast<double>(retry.retry_delay().seconds()) +
            retry.retry_delay().nanos() / kNanosOfASecond;
        answer.headers.emplace_back("Retry-After",
                                    absl::StrCat(std::ceil(seconds)));
      }
    }
  }
  if (error.error_code() == grpc::StatusCode::UNAUTHENTICATED) {
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  answer.body = Dump(body);
  return answer;
}

int CodeNumber(std::string_view name) {
  // The first one is OK.
  for (size_t i = 1; i < std::size(kCodes); ++i) {
    if (absl::EqualsIgnoreCase(absl::string_view(name.data(), name.size()),
                               kCodes[i].name)) {
      return static_cast<int>(i);
    }
  }
  return 0;
}

AdminAnswer HttpError(unsigned http_status, std::string_view code,
                      std::string_view message) {
  AdminAnswer answer;
  answer.status = http_status;
  answer.content_type = "application/json";
  answer.body = Dump(json{{"code", code}, {"message", message}});
  return answer;
}

}  // namespace actord::daemon
