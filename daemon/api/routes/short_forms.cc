#include "daemon/api/routes/short_forms.h"

#include <actord/text.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/yield.pb.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/http_status.h"
#include "daemon/api/routes/short_form.h"
#include "daemon/wire/proto_check.h"

namespace actord::daemon {
namespace {

using google::protobuf::Message;

// A process may choose any text as content type; only a plain one can be a
// header.
std::string HeaderOf(const std::string& content_type) {
  if (content_type.empty()) return "application/json";
  const bool is_plain =
      content_type.find('/') != std::string::npos &&
      std::all_of(content_type.begin(), content_type.end(),
                  [](char c) { return c > ' ' - 1 && c <= '~'; });
  return is_plain ? content_type : "application/octet-stream";
}

AdminAnswer PayloadAnswer(v1::Payload* payload, const std::string& pid) {
  AdminAnswer answer;
  answer.content_type = HeaderOf(payload->content_type());
  answer.body = std::move(*payload->mutable_data());
  // A browser that shows it runs nothing of it.
  answer.headers.emplace_back("Content-Security-Policy",
                              "default-src 'none'; sandbox");
  answer.headers.emplace_back("Actord-Pid", pid);
  return answer;
}

// The failure of a process has a status that no error of a call has.
absl::StatusOr<AdminAnswer> OutcomeAnswer(const std::string& bytes) {
  v1::AwaitResponse response;
  response.ParseFromString(bytes);
  v1::Outcome& outcome = *response.mutable_outcome();
  if (outcome.has_result()) {
    return PayloadAnswer(outcome.mutable_result(), outcome.pid());
  }
  absl::StatusOr<AdminAnswer> answer =
      JsonAnswer(kHttpFailedDependency, outcome);
  if (answer.ok()) answer->headers.emplace_back("Actord-Pid", outcome.pid());
  return answer;
}

absl::StatusOr<AdminAnswer> SubmittedAnswer(
    unsigned status, const v1::SubmitResponse& response) {
  absl::StatusOr<AdminAnswer> answer = JsonAnswer(status, response);
  if (answer.ok()) {
    answer->headers.emplace_back(
        "Location", absl::StrCat("/v1/processes/", response.pid()));
  }
  return answer;
}

AdminAnswer OrError(absl::StatusOr<AdminAnswer> answer) {
  return answer.ok() ? *std::move(answer) : ConnectError(answer.status());
}

// GET outcome.
class OutcomeOf : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string /*body*/, Message* request) override {
    auto& await = static_cast<v1::AwaitRequest&>(*request);
    await.set_pid(parts().segments[0]);
    return ReadParts({}, request);
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    return OutcomeAnswer(bytes);
  }
  [[nodiscard]] bool may_be_late() const override { return true; }
  AdminAnswer Late() override {
    AdminAnswer answer;
    answer.status = kHttpAccepted;
    answer.content_type = "application/json";
    answer.body = nlohmann::json{{"pid", parts().segments[0]}}.dump();
    return answer;
  }
};

// The outcome as the event of a stream that ends with the process.
class OutcomeEvent final : public OutcomeOf {
 public:
  using OutcomeOf::OutcomeOf;

  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::AwaitResponse response;
    response.ParseFromString(bytes);
    return EventAnswer("outcome", response);
  }
  [[nodiscard]] bool may_be_late() const override { return false; }
  [[nodiscard]] bool is_event_stream() const override { return true; }
};

// The outcome of a process that the client has just submitted.
class OutcomeOfSubmitted final : public OutcomeOf {
 public:
  OutcomeOfSubmitted(ShortParts parts, v1::SubmitResponse submitted)
      : OutcomeOf(std::move(parts)), submitted_(std::move(submitted)) {}

  // The client already has the PID.
  AdminAnswer Refuse(const absl::Status& /*error*/) override { return Late(); }
  AdminAnswer Late() override {
    return OrError(SubmittedAnswer(kHttpAccepted, submitted_));
  }

 private:
  const v1::SubmitResponse submitted_;
};

class Submission final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string body, Message* request) override {
    auto& submit = static_cast<v1::SubmitRequest&>(*request);
    absl::Status status = ReadParts(
        {"method", "name", "onNameConflict", "priority", "durability", "label"},
        request);
    submit.set_process_type(parts().segments[0]);
    if (status.ok()) status = ReadKey(submit.mutable_request_id());
    if (!status.ok()) return status;
    return ReadPayload(std::move(body), submit.mutable_input());
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::SubmitResponse response;
    response.ParseFromString(bytes);
    const bool is_new = !response.duplicate() && !response.delivered();
    // Reached if the client's wait ends before Submit is answered.
    return SubmittedAnswer(parts().waits ? kHttpAccepted
                           : is_new      ? kHttpCreated
                                         : kHttpOk,
                           response);
  }
  [[nodiscard]] bool may_be_late() const override { return parts().waits; }
  FormedCall Next(const std::string& bytes) override {
    if (!parts().waits) return {};
    v1::SubmitResponse response;
    response.ParseFromString(bytes);
    ShortParts of_outcome{.service = parts().service,
                          .segments = {response.pid()},
                          .query = {},
                          .content_type = {},
                          .keys = {},
                          .waits = true};
    return {.method = parts().service.FindMethodByName("Await"),
            .form = std::make_unique<OutcomeOfSubmitted>(std::move(of_outcome),
                                                         std::move(response))};
  }
};

class Description final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string /*body*/, Message* request) override {
    auto& get = static_cast<v1::GetProcessRequest&>(*request);
    get.set_pid(parts().segments[0]);
    return ReadParts({}, request);
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::GetProcessResponse response;
    response.ParseFromString(bytes);
    return JsonAnswer(kHttpOk, response.process());
  }
};

// GET of the list.
class ProcessList final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string /*body*/, Message* request) override {
    return ReadParts({"pageSize", "pageToken", "processType", "state",
                      "parentPid", "label", "owner", "end"},
                     request);
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::ListProcessesResponse response;
    response.ParseFromString(bytes);
    return JsonAnswer(kHttpOk, response);
  }
};

class Sending final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string body, Message* request) override {
    auto& send = static_cast<v1::SendRequest&>(*request);
    absl::Status status = ReadParts({}, request);
    send.set_pid(parts().segments[0]);
    send.set_topic(parts().segments[2]);
    if (status.ok()) status = ReadKey(send.mutable_message_id());
    if (!status.ok()) return status;
    return ReadPayload(std::move(body), send.mutable_payload());
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::SendResponse response;
    response.ParseFromString(bytes);
    return JsonAnswer(kHttpAccepted, response);
  }
};

class ProcessCall final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string body, Message* request) override {
    auto& call = static_cast<v1::CallRequest&>(*request);
    absl::Status status = ReadStart(call);
    call.set_pid(parts().segments[0]);
    call.set_topic(parts().segments[2]);
    if (status.ok()) status = ReadKey(call.mutable_message_id());
    if (!status.ok()) return status;
    return ReadPayload(std::move(body), call.mutable_payload());
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::CallResponse response;
    response.ParseFromString(bytes);
    AdminAnswer answer =
        PayloadAnswer(response.mutable_result(), response.pid());
    if (response.started()) {
      answer.headers.emplace_back("Actord-Started", "true");
    }
    return answer;
  }

 private:
  // The parameters are about the process that the call starts. `input` is a
  // text, because the body is the payload of the call.
  absl::Status ReadStart(v1::CallRequest& call) {
    const absl::StatusOr<Parameters> parameters =
        ReadParameters(parts().query, "label");
    if (!parameters.ok()) return parameters.status();
    if (parameters->empty()) return ReadParts({}, &call);
    std::vector<std::string> pairs = absl::StrSplit(parts().query, '&');
    std::erase_if(pairs, [](const std::string& pair) {
      return pair.starts_with("input=") || pair.starts_with("inputType=");
    });
    parts().query = absl::StrJoin(pairs, "&");
    v1::SubmitRequest& start = *call.mutable_start_if_absent();
    absl::Status status = ReadParts(
        {"processType", "method", "priority", "durability", "label"}, &start);
    if (!status.ok()) return status;
    if (start.process_type().empty()) {
      return Wrong("processType",
                   "is required beside the other parameters of the process to "
                   "start");
    }
    return ReadInput(*parameters, start);
  }

  static absl::Status ReadInput(const Parameters& parameters,
                                v1::SubmitRequest& start) {
    for (const auto& [name, value] : parameters) {
      if (name != "input" && name != "inputType") continue;
      if (!IsUtf8(value)) return Wrong(name, "is not UTF-8");
      if (name == "input") {
        start.mutable_input()->set_data(value);
      } else {
        start.mutable_input()->set_content_type(value);
      }
    }
    return absl::OkStatus();
  }
};

class Cancelling final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string /*body*/, Message* request) override {
    auto& cancel = static_cast<v1::CancelRequest&>(*request);
    absl::Status status = ReadParts({"reason", "deadline"}, request);
    cancel.set_pid(parts().segments[0]);
    return status;
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::CancelResponse response;
    response.ParseFromString(bytes);
    return JsonAnswer(kHttpAccepted, response);
  }
};

class YieldAnswer final : public ShortForm {
 public:
  using ShortForm::ShortForm;

  absl::Status Read(std::string body, Message* request) override {
    auto& complete = static_cast<v1::CompleteYieldRequest&>(*request);
    const bool is_error = parts().segments[1] == "error";
    absl::Status status =
        is_error ? ReadError(std::move(body), complete.mutable_error())
                 : ReadPayload(std::move(body), complete.mutable_result());
    if (!status.ok()) return status;
    v1::CompleteYieldRequest rest;
    status = ReadParts({}, &rest);
    complete.set_token(parts().segments[0]);
    return status;
  }
  absl::StatusOr<AdminAnswer> Write(const std::string& bytes) override {
    v1::CompleteYieldResponse response;
    response.ParseFromString(bytes);
    return JsonAnswer(StatusOf(response.answer()), response);
  }

 private:
  static unsigned StatusOf(v1::CompleteYieldResponse::Answer answer) {
    switch (answer) {
      case v1::CompleteYieldResponse::ANSWER_CONFLICT:
      case v1::CompleteYieldResponse::ANSWER_SUPERSEDED:
        return kHttpConflict;
      case v1::CompleteYieldResponse::ANSWER_EXPIRED:
        return kHttpGone;
      case v1::CompleteYieldResponse::ANSWER_UNKNOWN:
        return kHttpNotFound;
      default:
        return kHttpOk;
    }
  }

  // The body is the message. The parameter code is a name or a number.
  absl::Status ReadError(std::string body, v1::YieldError* error) {
    const absl::StatusOr<Parameters> parameters = ReadParameters(parts().query);
    if (!parameters.ok()) return parameters.status();
    error->set_code(CodeNumber("unknown"));
    for (const auto& [name, value] : *parameters) {
      if (name != "code") continue;
      int code = CodeNumber(value);
      if (code == 0 && !absl::SimpleAtoi(value, &code)) {
        return Wrong("code", "is neither the name nor the number of a code");
      }
      error->set_code(code);
      parts().query.clear();
    }
    if (parameters->size() > 1) {
      return Wrong("the query", "may only have the parameter code");
    }
    if (!IsUtf8(body)) return Wrong("the body", "is not UTF-8");
    *error->mutable_message() = std::move(body);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<CallForm> SubmitForm(ShortParts parts) {
  return std::make_unique<Submission>(std::move(parts));
}
std::unique_ptr<CallForm> GetProcessForm(ShortParts parts) {
  return std::make_unique<Description>(std::move(parts));
}
std::unique_ptr<CallForm> ListProcessesForm(ShortParts parts) {
  return std::make_unique<ProcessList>(std::move(parts));
}
std::unique_ptr<CallForm> OutcomeForm(ShortParts parts) {
  if (parts.wants_events) {
    return std::make_unique<OutcomeEvent>(std::move(parts));
  }
  return std::make_unique<OutcomeOf>(std::move(parts));
}
std::unique_ptr<CallForm> SendForm(ShortParts parts) {
  return std::make_unique<Sending>(std::move(parts));
}
std::unique_ptr<CallForm> CallProcessForm(ShortParts parts) {
  return std::make_unique<ProcessCall>(std::move(parts));
}
std::unique_ptr<CallForm> CancelForm(ShortParts parts) {
  return std::make_unique<Cancelling>(std::move(parts));
}
std::unique_ptr<CallForm> CompleteForm(ShortParts parts) {
  return std::make_unique<YieldAnswer>(std::move(parts));
}

}  // namespace actord::daemon
