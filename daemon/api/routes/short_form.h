// The common parts of short routes: parameters of the query, the payload in the
// body, Idempotency-Key, and answers in JSON.
//
// Thread-safety: belongs to one call.
#pragma once

#include <google/protobuf/message.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actord/v1/payload.pb.h"
#include "daemon/api/call_form.h"
#include "daemon/api/routes/short_forms.h"

namespace actord::daemon {

absl::StatusOr<AdminAnswer> JsonAnswer(
    unsigned status, const google::protobuf::Message& message);

// One server-sent event, whose data is the message.
absl::StatusOr<AdminAnswer> EventAnswer(
    const char* name, const google::protobuf::Message& message);

// Fills the fields of `request` with the parameters of the query, which must be
// among `allowed`. The parameter label may come several times: "key=value" each
// for a field `labels` that is a map, and for a list "key" alone as well.
absl::Status ReadQueryFields(const std::string& query,
                             const std::vector<std::string>& allowed,
                             google::protobuf::Message* request);

class ShortForm : public CallForm {
 public:
  explicit ShortForm(ShortParts parts) : parts_(std::move(parts)) {}

 protected:
  [[nodiscard]] ShortParts& parts() { return parts_; }
  [[nodiscard]] const ShortParts& parts() const { return parts_; }

  // Fills the fields of `request` with the parameters of the query, which must
  // be among `allowed`. To be called first. Checks the texts of the path, too.
  absl::Status ReadParts(std::initializer_list<std::string_view> allowed,
                         google::protobuf::Message* request) const;
  // Reads Idempotency-Key, perhaps in quotation marks, into `id`.
  absl::Status ReadKey(std::string* id) const;
  absl::Status ReadPayload(std::string body, v1::Payload* payload) const;

 private:
  ShortParts parts_;
};

}  // namespace actord::daemon
