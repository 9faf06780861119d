// actorctl work

#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/alarm.h"
#include "client/cli/child.h"
#include "client/cli/errors/unreached.h"
#include "client/cli/input.h"
#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/output.h"
#include "client/output/text.h"
#include "client/tasks/worker.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

// Exit status of a program for which a retry is useless; EX_DATAERR of
// sysexits.h.
constexpr int kDoNotRetry = 65;
constexpr int kMaxConcurrency = 1000;
// In a table. Unit: characters.
constexpr size_t kMaxErrorWidth = 120;

struct WorkOptions {
  std::vector<std::string> commands;
  std::string exec;
  std::string content_type;
  std::string name;
  int concurrency = 1;
  uint64_t count = 0;
};

// The last line that is not blank, for people.
std::string LastLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  const size_t line = text.rfind('\n');
  return OneLine(line == std::string::npos ? text : text.substr(line + 1));
}

// " (SIGKILL)"; "" for a number that is no signal.
std::string NameOfSignal(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "" : std::string(" (SIG") + name + ")";
}

std::string WhyItFailed(const ChildEnd& end) {
  // A shell exits so for a program that a signal has ended.
  constexpr int kEndedBySignal = 128;
  std::string why =
      end.signal != 0
          ? "ended by signal " + std::to_string(end.signal) +
                NameOfSignal(end.signal)
          : "exit status " + std::to_string(end.exit_status) +
                (end.exit_status > kEndedBySignal
                     ? NameOfSignal(end.exit_status - kEndedBySignal)
                     : "");
  const std::string said = LastLine(end.errors);
  return said.empty() ? why : why + ": " + said;
}

std::vector<std::string> VariablesOf(const v1::Task& task) {
  return {"ACTORD_TASK_COMMAND=" + task.command(),
          "ACTORD_TASK_TOKEN=" + task.token(),
          "ACTORD_TASK_IDEMPOTENCY_KEY=" + task.idempotency_key(),
          "ACTORD_TASK_PID=" + task.pid(),
          "ACTORD_TASK_ATTEMPT=" + std::to_string(task.attempt()),
          "ACTORD_TASK_MAX_ATTEMPTS=" + std::to_string(task.max_attempts()),
          "ACTORD_TASK_CONTENT_TYPE=" + (task.payload().content_type().empty()
                                             ? std::string("application/json")
                                             : task.payload().content_type())};
}

TaskOutcome Execute(const WorkOptions& options, RunningTask& running) {
  const ChildOrder order = {.command = options.exec,
                            .environment = VariablesOf(running.task()),
                            .input = running.task().payload().data(),
                            .max_output_bytes = kMaxInputBytes};
  auto end = RunChild(order, running.cancellation());
  if (!end.ok()) {
    return TaskOutcome::Retry(absl::StatusCode::kInternal,
                              std::string(end.status().message()));
  }
  if (end->too_much_output) {
    return TaskOutcome::Error(
        absl::StatusCode::kResourceExhausted,
        "more than " + ShortBytes(kMaxInputBytes) + " of standard output");
  }
  if (end->signal == 0 && end->exit_status == 0) {
    v1::Payload payload;
    payload.set_content_type(options.content_type.empty()
                                 ? GuessContentType(end->output)
                                 : options.content_type);
    payload.set_data(std::move(end->output));
    return TaskOutcome::Result(std::move(payload));
  }
  if (end->exit_status == kDoNotRetry) {
    return TaskOutcome::Error(absl::StatusCode::kFailedPrecondition,
                              WhyItFailed(*end));
  }
  return TaskOutcome::Retry(absl::StatusCode::kUnknown, WhyItFailed(*end));
}

// ACCEPTED, or another end of the task.
std::string EndOf(const TaskReport& report) {
  switch (report.end) {
    case TaskReport::End::kAnswered:
      return report.failed &&
                     report.answer == v1::CompleteYieldResponse::ANSWER_ACCEPTED
                 ? "FAILED"
                 : EnumName(report.answer);
    case TaskReport::End::kRefused:
      return "REFUSED";
    case TaskReport::End::kCancelled:
      return "CANCELLED";
    case TaskReport::End::kLost:
      return "LOST";
  }
  return "";
}

Item ReportItem(const TaskReport& report) {
  return {.json =
              [&report] {
                Json json = {{"token", report.task.token()},
                             {"command", report.task.command()},
                             {"pid", report.task.pid()},
                             {"attempt", report.task.attempt()},
                             {"end", EndOf(report)}};
                if (report.end == TaskReport::End::kRefused) {
                  json["reason"] = report.refusal.reason();
                  json["message"] = report.refusal.message();
                }
                if (!report.error.empty()) json["error"] = report.error;
                return json;
              },
          .name = [&report] { return report.task.token(); },
          .cells =
              [&report] {
                return std::vector<std::string>{
                    EndOf(report),
                    report.task.command(),
                    std::to_string(report.task.attempt()),
                    report.task.token(),
                    report.task.pid(),
                    OneLine(report.error, kMaxErrorWidth)};
              }};
}

// The same complaint about a connection is not repeated before this time.
constexpr absl::Duration kSameComplaintPause = absl::Minutes(1);

// The program that `exec` names, if it begins with the plain name of one and
// the shell does not find it; else "".
std::string MissingProgram(const std::string& exec,
                           Cancellation& cancellation) {
  const std::string word = exec.substr(0, exec.find_first_of(" \t\n"));
  if (word.empty() ||
      word.find_first_of("$`\"'\\;&|<>(){}*?[]=~#!") != std::string::npos) {
    return "";
  }
  if (word.find('/') != std::string::npos) {
    return access(word.c_str(), X_OK) == 0 ? "" : word;
  }
  const auto end =
      RunChild({.command = "command -v -- " + word + " >/dev/null 2>&1",
                .environment = {},
                .input = "",
                .max_output_bytes = kMaxInputBytes},
               cancellation);
  return end.ok() && end->exit_status != 0 && !end->cancelled ? word : "";
}

ExitStatus RunWork(Invocation& invocation, const WorkOptions& options) {
  // Otherwise each task would lose all of its attempts.
  if (const std::string missing =
          MissingProgram(options.exec, invocation.environment().cancellation);
      !missing.empty()) {
    return invocation.Fail(
        UsageError("--exec: " + OneLine(missing) +
                   ": there is no such program, or it is not executable"));
  }
  ListWriter writer(invocation.out(), invocation.style(),
                    {{.heading = "END"},
                     {.heading = "COMMAND"},
                     {.heading = "ATTEMPT", .number = true},
                     {.heading = "TOKEN"},
                     {.heading = "PID", .wide_only = true},
                     {.heading = "ERROR"}});
  WorkerOptions worker_options;
  worker_options.commands = options.commands;
  worker_options.name = options.name;
  worker_options.concurrency = options.concurrency;
  worker_options.max_tasks = options.count;
  worker_options.on_end = [&](const TaskReport& report) {
    writer.Add(ReportItem(report));
    writer.EndPage();
    invocation.out().flush();
  };
  std::string said;
  absl::Time said_at = absl::InfinitePast();
  worker_options.on_broken = [&](const absl::Status& why,
                                 absl::Duration delay) {
    const std::string text =
        DescribeBreak(invocation.options().endpoint(), why);
    if (text == said && absl::Now() - said_at < kSameComplaintPause) return;
    said = text;
    said_at = absl::Now();
    invocation.Complain(text + "; trying again in " + ShortDuration(delay));
  };
  Worker worker(
      invocation.options().endpoint(), std::move(worker_options),
      [&options](RunningTask& running) { return Execute(options, running); });
  Cancellation stop;
  Alarm alarm(invocation.environment().cancellation, invocation.deadline(),
              stop);
  const absl::Status status = worker.Run(stop);
  writer.Finish();
  if (!status.ok()) return invocation.Fail(status);
  if (invocation.environment().cancellation.cancelled()) {
    return ExitStatus::kInterrupted;
  }
  if (!alarm.rang()) return ExitStatus::kDone;
  // Without a connection there is a line already.
  if (said.empty()) {
    invocation.Complain(writer.empty() ? "no task came within --timeout"
                                       : "--timeout has passed");
  }
  return ExitStatus::kDeadline;
}

constexpr char kWorkFooter[] = R"(
Leases external commands from the daemon as tasks, and runs PROGRAM with /bin/sh for each
task. PROGRAM reads the payload from standard input and writes the result to standard output.

Exit status of PROGRAM:
  0      done; the process gets the result
  65     failed for good; the process gets the error FAILED_PRECONDITION
  other  failed; retried, here or elsewhere, until the attempts run out
A program that is missing when work starts is a usage error, and no task is taken.
The last line of its standard error is the error message. Its environment holds
ACTORD_TASK_COMMAND, _TOKEN, _IDEMPOTENCY_KEY, _PID, _ATTEMPT, _MAX_ATTEMPTS and
_CONTENT_TYPE. A task may run more than once, each time with the same idempotency key: pass
the key to every service that must not do the work twice.

work sends heartbeats while PROGRAM runs. When the daemon takes a task back (because its
process ended, for example), PROGRAM and its child processes get SIGTERM, and SIGKILL 5
seconds later.

Prints a line for each finished task. END is how the daemon took the answer: ACCEPTED, FAILED
(counted, and retried if attempts are left), DUPLICATE, CONFLICT, SUPERSEDED, EXPIRED,
UNKNOWN, REFUSED; or CANCELLED or LOST if there was no answer. ERROR has the exit status or
the signal of PROGRAM, and the last line of its standard error. Runs until it is interrupted
(130), then finishes the running tasks; a second interruption ends it at once. work waits for
a daemon that does not answer, at its start too, and says so once a minute; with --timeout it
ends after that time.

Examples:
  actorctl work payment.charge --exec ./charge.sh
  actorctl work 'mail.*' 'sms.*' --exec 'python3 notify.py' --concurrency 8
  actorctl work payment.charge --exec 'jq .amount_cents' --count 1 -o jsonl
)";

}  // namespace

void AddWork(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<WorkOptions>();
  CLI::App* command =
      app.add_subcommand("work", "Carry out external commands with a program");
  command->footer(kWorkFooter);
  command
      ->add_option(
          "COMMAND", options->commands,
          "External command to lease; a * at the end makes it a prefix")
      ->required()
      ->type_name("");
  command
      ->add_option("--exec", options->exec,
                   "Shell command to run for each task")
      ->required()
      ->type_name("PROGRAM");
  command
      ->add_option("--concurrency", options->concurrency,
                   "Maximum number of tasks at a time")
      ->check(CLI::Range(1, kMaxConcurrency).description(""))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option(
          "--count", options->count,
          "End with status 0 after N tasks, failed ones included [no limit]")
      ->type_name("N");
  command
      ->add_option("--content-type", options->content_type,
                   "Content type of the results [guessed from the data]")
      ->type_name("TYPE");
  command->add_option("--name", options->name, "Name of this worker in lists")
      ->type_name("NAME");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunWork(invocation, *options);
    };
  });
}

}  // namespace actord::client
