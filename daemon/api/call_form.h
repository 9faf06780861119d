// The form of a call: how its request is read from HTTP, and how its answer is
// written. JsonForm is the form of Connect; the short routes have forms of
// their own (short_routes.h).
//
// Thread-safety: one thread at a time. Ownership: the call owns its form.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/admin/admin_request.h"
#include "daemon/api/connect_error.h"

namespace actord::daemon {

class CallForm;

// A method and the form of its call.
struct FormedCall {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::unique_ptr<CallForm> form;
};

class CallForm {
 public:
  CallForm() = default;
  virtual ~CallForm() = default;
  CallForm(const CallForm&) = delete;
  CallForm& operator=(const CallForm&) = delete;

  // Reads the request, once. INVALID_ARGUMENT: it is malformed.
  virtual absl::Status Read(std::string body,
                            google::protobuf::Message* request) = 0;
  // Writes the answer: `bytes` are the method's response.
  virtual absl::StatusOr<AdminAnswer> Write(const std::string& bytes) = 0;
  // Writes the answer of a call that has failed.
  virtual AdminAnswer Refuse(const absl::Status& error) {
    return ConnectError(error);
  }

  // Called once when the method has returned, also if nobody waits for the
  // answer any more.
  virtual void Finished(const absl::Status& /*status*/,
                        const std::string& /*bytes*/) {}

  // Whether the end of the client's patience is no error: the client has only
  // said how long it is willing to wait. Then Late is the answer, if the call
  // could be taken back; otherwise the call is still answered.
  [[nodiscard]] virtual bool may_be_late() const { return false; }
  virtual AdminAnswer Late() { return {}; }

  // Whether the answer is a stream of server-sent events. While the call waits,
  // the stream is open, and Write writes its last event. A call that is refused
  // before has an ordinary answer.
  [[nodiscard]] virtual bool is_event_stream() const { return false; }

  // The call that follows a call with this response, in place of its answer;
  // no method: none.
  virtual FormedCall Next(const std::string& /*bytes*/) { return {}; }
};

// The request and the response as JSON.
class JsonForm final : public CallForm {
 public:
  explicit JsonForm(const google::protobuf::MethodDescriptor& method)
      : method_(method) {}

  absl::Status Read(std::string body,
                    google::protobuf::Message* request) override;
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override;

 private:
  const google::protobuf::MethodDescriptor& method_;
};

}  // namespace actord::daemon
