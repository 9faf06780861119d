// actorctl complete

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/input.h"
#include "client/cli/status_codes.h"
#include "client/commands/commands.h"
#include "client/commands/yields/find_token.h"
#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

using Answer = v1::CompleteYieldResponse::Answer;

struct CompleteOptions {
  std::string token;
  std::string result;
  std::string content_type;
  std::string error;
  std::string message;
};

absl::StatusOr<v1::CompleteYieldRequest> MakeRequest(
    Invocation& invocation, const CompleteOptions& options) {
  v1::CompleteYieldRequest request;
  if (!options.error.empty()) {
    const auto code = ParseStatusCode(options.error);
    if (!code.ok()) return code.status();
    request.mutable_error()->set_code(*code);
    request.mutable_error()->set_message(options.message);
    return request;
  }
  auto result = ReadPayload(invocation, options.result, options.content_type);
  if (!result.ok()) return result.status();
  *request.mutable_result() = *std::move(result);
  return request;
}

ExitStatus StatusOf(Answer answer) {
  switch (answer) {
    case v1::CompleteYieldResponse::ANSWER_ACCEPTED:
    case v1::CompleteYieldResponse::ANSWER_DUPLICATE:
      return ExitStatus::kDone;
    case v1::CompleteYieldResponse::ANSWER_UNKNOWN:
      return ExitStatus::kNotFound;
    default:
      return ExitStatus::kFailed;
  }
}

// What has become of the command, and how to see it; "": the daemon has told it
// all.
std::string WhyNotAccepted(Answer answer, const std::string& token) {
  const std::string pid = PidOfToken(token);
  const std::string see =
      pid.empty() ? "" : absl::StrCat("; see \"actorctl describe ", pid, "\"");
  switch (answer) {
    case v1::CompleteYieldResponse::ANSWER_CONFLICT:
      return "the command has already been completed with another result or "
             "error; this completion was dropped" +
             see;
    case v1::CompleteYieldResponse::ANSWER_SUPERSEDED:
      return absl::StrCat(
          "the command has been taken again: a newer attempt has a token of "
          "its own; this completion was dropped",
          pid.empty()
              ? ""
              : absl::StrCat("; see \"actorctl yields --pid ", pid, "\""));
    case v1::CompleteYieldResponse::ANSWER_EXPIRED:
      return "the command has already ended without this completion: it timed "
             "out, its attempts were used up, or its process ended or "
             "cancelled it" +
             see;
    case v1::CompleteYieldResponse::ANSWER_UNKNOWN:
      return "the daemon knows no such command: it never was, or it ended too "
             "long ago" +
             see;
    default:
      return "";
  }
}

ExitStatus RunComplete(Invocation& invocation, const CompleteOptions& options) {
  auto request = MakeRequest(invocation, options);
  if (!request.ok()) return invocation.Fail(request.status());
  auto token = FindToken(invocation, options.token);
  if (!token.ok()) return invocation.Fail(token.status());
  request->set_token(*token);
  const auto response =
      invocation.client().CompleteYield(*request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const std::string answer = EnumName(response->answer());
  WriteOne(invocation.out(), invocation.style(), ToJson(*response), *token,
           [&] { invocation.out() << answer << '\n'; });
  const std::string why = WhyNotAccepted(response->answer(), *token);
  if (!why.empty()) {
    // Flush first: the answer comes before its reason.
    invocation.out().flush();
    invocation.Complain(why);
  }
  return StatusOf(response->answer());
}

constexpr char kCompleteFooter[] = R"(
Prints the outcome: ACCEPTED, or DUPLICATE if the same completion was accepted before (exit
status 0); CONFLICT if another completion was accepted, SUPERSEDED, or EXPIRED (1); UNKNOWN
(3). A line on standard error explains these. On the error MAILBOX_FULL (1) retry: the process has no room for the result yet.

Of a TOKEN that is not whole, the command that is found is named on standard error. If several
commands match, none is completed, and they are listed (2).

Examples:
  actorctl complete "$token" '{"charged": true}'
  actorctl complete - '{"charged": true}'
  actorctl complete "$token" @receipt.pdf --content-type application/pdf
  actorctl complete "$token" --error FAILED_PRECONDITION --message "card refused"
)";

}  // namespace

void AddComplete(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CompleteOptions>();
  CLI::App* command =
      app.add_subcommand("complete", "Complete an external command");
  command->footer(kCompleteFooter);
  command->add_option("TOKEN", options->token, kTokenArgument)
      ->required()
      ->type_name("");
  auto* result = command
                     ->add_option("RESULT", options->result,
                                  "Result: text, @FILE or - [empty]")
                     ->type_name("");
  command
      ->add_option("--content-type", options->content_type,
                   "Content type of RESULT [guessed from the data]")
      ->type_name("TYPE");
  auto* error = command
                    ->add_option("--error", options->error,
                                 "Fail it with this code, such as ABORTED")
                    ->type_name("CODE")
                    ->excludes(result);
  command->add_option("--message", options->message, "Message of the error")
      ->type_name("TEXT")
      ->needs(error);
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunComplete(invocation, *options);
    };
  });
}

}  // namespace actord::client
