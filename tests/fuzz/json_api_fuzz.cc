// Any bytes as a request of the JSON API: method, path, query, headers and
// body, as the server of the admin port has parsed them. Every request is
// answered. No answer blames the daemon, and none breaks its headers.
//
// An input is: flags (1 byte), path, query, one or two headers, each a name and
// a value (texts of up to 255 bytes, each after its length), and the body.
// Flags: the first two bits choose the token, the next two the verb, the next
// the beginning of the path.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/api/json_api.h"
#include "daemon/api/openapi/openapi_text.h"
#include "google/protobuf/struct.pb.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/service/service_in_process.h"

namespace actord::fuzz {
namespace {

constexpr int kInputsOfOneService = 2000;
// How long a call may wait, and how long a target that fails waits.
constexpr absl::Duration kPatience = absl::Milliseconds(20);
constexpr absl::Duration kNeverReached = absl::Seconds(60);
constexpr size_t kMaxRequestBytes = 64 << 10;

struct Api {
  Api() {
    daemon::JsonApi::Options options;
    options.max_request_bytes = kMaxRequestBytes;
    options.max_patience = kPatience;
    options.openapi = daemon::OpenApiText();
    options.links = &service.links();
    options.logger = &service.logger();
    auto started = daemon::JsonApi::Start(service.service(),
                                          runtime::Clock::System(), options);
    Require(started.ok(), started.status().ToString());
    api = *std::move(started);
  }
  ~Api() { api->Stop(); }

  ServiceInProcess service;
  std::unique_ptr<daemon::JsonApi> api;
};

// The first part of an answer, shared with a call that may answer later.
struct Answers {
  absl::Mutex mutex;
  std::optional<daemon::AdminAnswer> first;

  bool Await(absl::Duration patience) {
    const absl::MutexLock lock(&mutex);
    return mutex.AwaitWithTimeout(
        absl::Condition(
            +[](std::optional<daemon::AdminAnswer>* one) {
              return one->has_value();
            },
            &first),
        patience);
  }
};

bool IsHeaderText(std::string_view text) {
  for (const char c : text) {
    if (c == '\r' || c == '\n' || c == '\0') return false;
  }
  return true;
}

void Check(const daemon::AdminRequest& request,
           const daemon::AdminAnswer& answer) {
  const std::string text = absl::StrCat(request.method, " ", request.path, ": ",
                                        answer.status, " ", answer.body);
  Require(answer.status >= 200 && answer.status < 600, "a status: " + text);
  Require(answer.status != 500, "an error blames the daemon: " + text);
  Require(IsHeaderText(answer.content_type) && IsHeaderText(answer.allow),
          "a header is one line");
  for (const auto& [name, value] : answer.headers) {
    Require(IsHeaderText(name) && IsHeaderText(value), "a header is one line");
  }
  if (answer.status < 400 || answer.content_type != "application/json") return;
  google::protobuf::Struct error;
  Require(google::protobuf::util::JsonStringToMessage(answer.body, &error).ok(),
          "an error is JSON: " + text);
  // The route of a result tells the answer, also if it is not accepted.
  Require(error.fields().contains("code") || error.fields().contains("answer"),
          "an error has a code: " + text);
}

daemon::AdminRequest ReadRequest(Input& input) {
  static constexpr const char* kVerbs[] = {"GET", "POST", "DELETE", "PUT"};
  const uint8_t flags = input.Byte();
  daemon::AdminRequest request;
  request.method = kVerbs[flags >> 2 & 3];
  request.path = input.Text();
  if ((flags & 16) != 0) {
    request.path = "/actord.v1.ActorService/" + request.path;
  } else if (!request.path.starts_with("/")) {
    request.path = "/v1/" + request.path;
  }
  request.query = input.Text();
  request.headers.emplace_back("authorization",
                               ServiceInProcess::Authorization(flags & 3));
  request.headers.emplace_back("host", "127.0.0.1:7601");
  if ((flags & 16) != 0) {
    request.headers.emplace_back("content-type", "application/json");
  }
  for (int i = 0; i < ((flags & 32) != 0 ? 2 : 1); ++i) {
    const std::string name = absl::AsciiStrToLower(input.Text());
    request.headers.emplace_back(name, input.Text());
  }
  request.body = std::string(input.rest());
  request.peer = "ipv4:127.0.0.1:49152";
  request.is_local_user = (flags & 64) != 0;
  return request;
}

void AskApi(Input input) {
  // Made at once, so that it ends before the objects that RocksDB makes with
  // it.
  static std::unique_ptr<Api> api = std::make_unique<Api>();
  static int inputs = 0;
  if (api->service.ends() || ++inputs % kInputsOfOneService == 0) {
    api.reset();
    api = std::make_unique<Api>();
  }
  const google::protobuf::LogSilencer no_word_about_each_bad_text;
  const daemon::AdminRequest request = ReadRequest(input);
  if (!api->api->Takes(request.path) ||
      request.body.size() > api->api->MaxBodyBytesOf(request.path)) {
    return;  // The server answers it.
  }
  const auto answers = std::make_shared<Answers>();
  const std::shared_ptr<daemon::AdminCall> call =
      api->api->Begin(request, [answers](daemon::AdminAnswer answer) {
        const absl::MutexLock lock(&answers->mutex);
        if (!answers->first) answers->first = std::move(answer);
      });
  // The server's part: it ends calls whose time is over.
  if (!answers->Await(2 * kPatience) && call != nullptr) {
    call->End(daemon::AdminCall::Why::kDeadline);
  }
  Require(answers->Await(kNeverReached), "a request is answered");
  const absl::MutexLock lock(&answers->mutex);
  Check(request, *answers->first);
  if (call != nullptr &&
      answers->first->part == daemon::AdminAnswer::Part::kFirst) {
    call->End(daemon::AdminCall::Why::kClientGone);
  }
}

}  // namespace
}  // namespace actord::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::fuzz::AskApi({data, size});
  return 0;
}
