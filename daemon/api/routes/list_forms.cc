// The forms of lists.
#include <actord/text.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "actord/v1/call.pb.h"
#include "actord/v1/yield.pb.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/http_status.h"
#include "daemon/api/json_text.h"
#include "daemon/api/routes/short_forms.h"
#include "daemon/wire/proto_check.h"
#include "google/protobuf/descriptor.h"

namespace actord::daemon {
namespace {

template <typename Response>
class ListForm final : public CallForm {
 public:
  explicit ListForm(ShortParts parts) : parts_(std::move(parts)) {}

  absl::Status Read(std::string /*body*/,
                    google::protobuf::Message* request) override {
    const google::protobuf::Descriptor& message = *request->GetDescriptor();
    std::vector<std::string> names;
    for (int i = 0; i < message.field_count(); ++i) {
      names.emplace_back(message.field(i)->json_name());
    }
    return ReadQueryFields(parts_.query, names, request);
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    AdminAnswer answer;
    answer.status = kHttpOk;
    answer.content_type = "application/json";
    absl::Status written =
        WriteJson(Response::descriptor()->full_name(), bytes, &answer.body);
    if (!written.ok()) return written;
    return answer;
  }

 private:
  const ShortParts parts_;
};

}  // namespace

absl::Status ReadQueryFields(const std::string& query,
                             const std::vector<std::string>& allowed,
                             google::protobuf::Message* request) {
  const absl::StatusOr<Parameters> parameters = ReadParameters(query);
  if (!parameters.ok()) return parameters.status();
  nlohmann::json fields = nlohmann::json::object();
  for (const auto& [name, value] : *parameters) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      return Wrong(ToUtf8(name, kMaxNameBytes),
                   "is not a parameter of this route");
    }
    fields[name] = value;
  }
  if (fields.empty()) return absl::OkStatus();
  return ReadJson(
      fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      request);
}

std::unique_ptr<CallForm> ListYieldsForm(ShortParts parts) {
  return std::make_unique<ListForm<v1::ListYieldsResponse>>(std::move(parts));
}
std::unique_ptr<CallForm> ListCallsForm(ShortParts parts) {
  return std::make_unique<ListForm<v1::ListCallsResponse>>(std::move(parts));
}

}  // namespace actord::daemon
