#include "client/commands/schedules/add_schedule.h"

#include <actord/text.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/bulk_items.h"
#include "client/cli/input.h"
#include "client/commands/known_type.h"
#include "client/commands/schedules/schedule_calls.h"
#include "client/output/message_json.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct AddFlags {
  std::string name;
  std::string every;
  std::string cron;
  std::string catch_up;
  std::string grace;
  bool paused = false;
  bool is_durable = false;

  std::string submit;
  std::string method;
  std::optional<std::string> input;
  std::string process_name;
  std::optional<int> priority;
  bool keep_result = false;

  std::string send_to;
  std::string topic;
  std::optional<std::string> payload;
};

absl::StatusOr<int64_t> Milliseconds(const char* option,
                                     const std::string& text) {
  const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
  if (!duration.ok()) {
    return UsageError(absl::StrCat(option, ": ", duration.status().message()));
  }
  return absl::ToInt64Milliseconds(*duration);
}

// The limits of the type schedule.
constexpr int64_t kLeastEveryMs = 1000;
constexpr int64_t kMostEveryMs = int64_t{366} * 24 * 3600 * 1000;

// Accepts only text, because the schedule keeps it in JSON.
absl::StatusOr<std::string> Text(Invocation& invocation, const char* option,
                                 const std::string& argument) {
  const Environment& environment = invocation.environment();
  absl::StatusOr<v1::Payload> payload =
      ReadPayload(argument, "", environment.stdin_fd, environment.cancellation);
  if (!payload.ok()) return payload.status();
  if (!IsUtf8(payload->data())) {
    return UsageError(absl::StrCat(option, " must be UTF-8"));
  }
  return std::move(*payload->mutable_data());
}

absl::StatusOr<Json> SubmitOf(Invocation& invocation, const AddFlags& flags) {
  Json submit = {{"type", flags.submit}};
  if (!flags.method.empty()) submit["method"] = flags.method;
  if (!flags.process_name.empty()) submit["name"] = flags.process_name;
  if (flags.priority) submit["priority"] = *flags.priority;
  if (flags.keep_result) submit["keep_result"] = true;
  if (flags.input) {
    auto input = Text(invocation, "--input", *flags.input);
    if (!input.ok()) return input.status();
    submit["input"] = *std::move(input);
  }
  return submit;
}

absl::StatusOr<Json> SendOf(Invocation& invocation, const AddFlags& flags) {
  Json send = {{"to", flags.send_to}};
  if (!flags.topic.empty()) send["topic"] = flags.topic;
  if (flags.payload) {
    auto payload = Text(invocation, "--payload", *flags.payload);
    if (!payload.ok()) return payload.status();
    send["payload"] = *std::move(payload);
  }
  return send;
}

absl::StatusOr<Json> InputOf(Invocation& invocation, const AddFlags& flags) {
  if (flags.every.empty() == flags.cron.empty()) {
    return UsageError("either --every or --cron is required");
  }
  if (flags.submit.empty() == flags.send_to.empty()) {
    return UsageError("either --submit or --send-to is required");
  }
  if (!IsName(kSchedulePrefix + flags.name)) {
    return UsageError(absl::StrCat("NAME is \"", flags.name,
                                   "\"; a name has 1 to ",
                                   128 - sizeof(kSchedulePrefix) + 1,
                                   " characters of a-z, A-Z, 0-9 and _.-/:"));
  }
  Json input;
  if (flags.every.empty()) {
    input["cron"] = flags.cron;
  } else {
    const auto ms = Milliseconds("--every", flags.every);
    if (!ms.ok()) return ms.status();
    if (*ms < kLeastEveryMs || *ms > kMostEveryMs) {
      return UsageError("--every: " + flags.every +
                        " is not from 1s to 366 days (8784h)");
    }
    input["every_ms"] = *ms;
  }
  if (!flags.catch_up.empty()) input["catch_up"] = flags.catch_up;
  if (!flags.grace.empty()) {
    const auto ms = Milliseconds("--grace", flags.grace);
    if (!ms.ok()) return ms.status();
    input["grace_ms"] = *ms;
  }
  if (flags.paused) input["paused"] = true;
  const bool submits = !flags.submit.empty();
  absl::StatusOr<Json> what =
      submits ? SubmitOf(invocation, flags) : SendOf(invocation, flags);
  if (!what.ok()) return what.status();
  input[submits ? "submit" : "send"] = *std::move(what);
  return input;
}

ExitStatus RunAdd(Invocation& invocation, const AddFlags& flags) {
  const absl::StatusOr<Json> input = InputOf(invocation, flags);
  if (!input.ok()) return invocation.Fail(input.status());
  v1::SubmitRequest request;
  request.set_process_type(kScheduleType);
  request.set_name(kSchedulePrefix + flags.name);
  request.mutable_input()->set_data(Write(*input));
  if (flags.is_durable) request.set_durability(v1::DURABILITY_DURABLE);
  const auto response = invocation.client().Submit(request, invocation.Quick());
  if (!response.ok()) {
    return invocation.Fail(response.status(), "schedule " + flags.name);
  }
  if (response->durability() != v1::DURABILITY_DURABLE) {
    invocation.Complain(
        "the daemon has no store, so the schedule ends with the daemon");
  }
  if (!flags.submit.empty()) {
    WarnOfUnknownType(invocation, flags.submit,
                      "; the runs of the schedule fail until a plugin with the "
                      "type is loaded");
  }
  Json state = {{"pid", response->pid()},
                {"durability", EnumName(response->durability())}};
  const absl::StatusOr<Json> answer =
      AskSchedule(invocation, response->pid(), "show");
  // The schedule exists even if it does not answer.
  if (answer.ok()) state.update(*answer);
  WriteSchedule(invocation, flags.name, state);
  return ExitStatus::kDone;
}

constexpr char kAddFooter[] = R"(
A cron expression has five fields, in UTC: minute, hour, day of month, month, day of week.
A field is *, a value, a range (1-5), or a list of these (1,3,10-12); * and ranges may have
a step (*/15). Months and days have names of three letters. If both day fields are
restricted, a day need match only one of them, as in cron(5). @hourly, @daily, @weekly,
@monthly and @yearly are known.

A due time is missed if the daemon was down and the schedule could not run it within --grace,
or if another due time has followed. --catch-up says what happens to missed times: skip runs
none of them, once runs one for all of them, all runs the last 1,000.

A run that submits --name is refused while the process of an earlier run has that name, so
that runs do not overlap.

Examples:
  actorctl schedule add nightly --cron '30 2 * * mon-fri' --submit report --catch-up once
  actorctl schedule add poll --every 15m --submit poller --input @poll.json --name poller
  actorctl schedule add beat --every 30s --send-to @monitor --topic beat --payload 1
)";

void AddWhenOptions(CLI::App& command, AddFlags& flags) {
  auto* const every = command
                          .add_option("--every", flags.every,
                                      "Interval, from 1s to 366 days (8784h)")
                          ->type_name("DURATION");
  command
      .add_option("--cron", flags.cron,
                  "Cron expression of five fields, in UTC")
      ->type_name("EXPRESSION")
      ->excludes(every);
  command
      .add_option("--catch-up", flags.catch_up,
                  "What happens to missed times [skip]")
      ->check(CLI::IsMember({"skip", "once", "all"}).description(""))
      ->type_name("skip|once|all");
  command
      .add_option("--grace", flags.grace,
                  "How late a run may be, from 1s to 24h [1m]")
      ->type_name("DURATION");
  command.add_flag("--paused", flags.paused,
                   "Run nothing until \"schedule resume\"");
  command.add_flag("--durable", flags.is_durable,
                   "Fail if the daemon has no store");
}

void AddSubmitOptions(CLI::App& command, AddFlags& flags) {
  CLI::Option* const submit =
      command.add_option("--submit", flags.submit, "Process type to submit")
          ->type_name("TYPE");
  command.add_option("--method", flags.method, "Its method [the type's first]")
      ->type_name("NAME")
      ->needs(submit);
  command.add_option("--input", flags.input, "Its input: text, @FILE or -")
      ->type_name("INPUT")
      ->needs(submit);
  command.add_option("--name", flags.process_name, "Its name")
      ->type_name("NAME")
      ->needs(submit);
  command
      .add_option("--priority", flags.priority,
                  "From 0 (lowest) to 31 (highest, runs first) [16]")
      ->check(CLI::Range(0, kHighestPriority).description(""))
      ->type_name("N")
      ->needs(submit);
  command
      .add_flag("--keep-result", flags.keep_result,
                "Keep its result, for await")
      ->needs(submit);
}

void AddSendOptions(CLI::App& command, AddFlags& flags) {
  CLI::Option* const send =
      command
          .add_option("--send-to", flags.send_to,
                      "Receiver of a message: a PID or @NAME")
          ->type_name("PID")
          ->excludes(command.get_option("--submit"));
  command.add_option("--topic", flags.topic, "Topic of the message")
      ->type_name("TEXT")
      ->needs(send);
  command
      .add_option("--payload", flags.payload, "The message: text, @FILE or -")
      ->type_name("PAYLOAD")
      ->needs(send);
}

}  // namespace

void AddAddSchedule(CLI::App& parent, Action& chosen) {
  auto flags = std::make_shared<AddFlags>();
  CLI::App* command = parent.add_subcommand("add", "Start a schedule");
  command->footer(kAddFooter);
  command->add_option("NAME", flags->name, "Name of the schedule")
      ->required()
      ->type_name("");
  AddWhenOptions(*command, *flags);
  AddSubmitOptions(*command, *flags);
  AddSendOptions(*command, *flags);
  command->callback([&chosen, flags] {
    chosen = [flags](Invocation& invocation) {
      return RunAdd(invocation, *flags);
    };
  });
}

}  // namespace actord::client
