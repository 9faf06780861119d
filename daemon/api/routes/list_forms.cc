// The forms of lists.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actord/v1/call.pb.h"
#include "actord/v1/yield.pb.h"
#include "daemon/api/http_status.h"
#include "daemon/api/json_text.h"
#include "daemon/api/routes/short_form.h"
#include "daemon/api/routes/short_forms.h"
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

std::unique_ptr<CallForm> ListYieldsForm(ShortParts parts) {
  return std::make_unique<ListForm<v1::ListYieldsResponse>>(std::move(parts));
}
std::unique_ptr<CallForm> ListCallsForm(ShortParts parts) {
  return std::make_unique<ListForm<v1::ListCallsResponse>>(std::move(parts));
}

}  // namespace actord::daemon
