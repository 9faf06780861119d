// actorctl watch

#include "client/streams/watch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/cli/alarm.h"
#include "client/cli/errors/unreached.h"
#include "client/commands/commands.h"
#include "client/commands/known_type.h"
#include "client/commands/labels/label_options.h"
#include "client/output/message_json.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

struct WatchCommandOptions {
  std::string process_type;
  std::string parent;
  std::vector<std::string> labels;
  std::string resume;
  std::string duration;
  uint64_t count = 0;
  bool no_snapshot = false;
};

// Writes one line. `json` gets the fields of `message` after the event's name.
struct WatchLine {
  const char* event;
  const google::protobuf::Message* message = nullptr;
  std::string time = {};
  std::string pid = {};
  std::string type = {};
  std::string how = {};
  std::string steps = {};
  std::string method = {};
  std::string priority = {};
  std::string parent = {};
  std::string name = {};
};

Item LineItem(const WatchLine& line) {
  return {.json =
              [&line] {
                Json json = {{"event", line.event}};
                if (line.message != nullptr) json.update(ToJson(*line.message));
                return json;
              },
          .name = [&line] { return line.pid; },
          .cells =
              [&line] {
                return std::vector<std::string>{
                    line.event,  line.time,  line.pid,    line.type,
                    line.how,    line.steps, line.method, line.priority,
                    line.parent, line.name};
              }};
}

// DONE, or the reason of the failure.
std::string HowItEnded(const v1::ProcessEnded& ended) {
  if (!ended.has_failure()) return "DONE";
  const v1::Failure& failure = ended.failure();
  const std::string reason = EnumName(failure.reason());
  return failure.message().empty() ? reason : reason + ": " + failure.message();
}

// Writes and counts the events of a watch.
class WatchPrinter {
 public:
  WatchPrinter(Invocation& invocation, const WatchCommandOptions& options,
               Cancellation& stop)
      : invocation_(invocation),
        options_(options),
        stop_(stop),
        writer_(invocation.out(), invocation.style(),
                {{.heading = "EVENT"},
                 {.heading = "TIME"},
                 {.heading = "PID"},
                 {.heading = "TYPE"},
                 {.heading = "HOW"},
                 {.heading = "STEPS", .number = true},
                 {.heading = "METHOD", .wide_only = true},
                 {.heading = "PRIORITY", .wide_only = true, .number = true},
                 {.heading = "PARENT", .wide_only = true},
                 {.heading = "NAME", .if_filled = true}}) {}

  // The functions that the watch calls.
  ProcessWatchOptions Options();
  void Finish() { writer_.Finish(); }
  // The number of events given with --count was reached.
  [[nodiscard]] bool complete() const { return complete_; }
  // OK if the daemon has answered at least once. Otherwise the reason of the
  // last failed attempt to connect.
  [[nodiscard]] absl::Status Unreached() const {
    return was_connected_ ? absl::OkStatus() : last_break_;
  }

 private:
  void Print(const WatchLine& line) { writer_.Add(LineItem(line)); }
  // Lines only for programs: people see the state, or read it on standard
  // error.
  void Mark(const char* event,
            const google::protobuf::Message* message = nullptr) {
    if (invocation_.ForPeople() ||
        invocation_.style().format == Format::kName) {
      return;
    }
    Print({.event = event, .message = message});
  }
  void Show(const v1::Process& process);
  void Show(const v1::ProcessStarted& started);
  void Show(const v1::ProcessEnded& ended);
  void Missed(uint64_t count);
  void CountOne() {
    if (++events_ != options_.count) return;
    complete_ = true;
    stop_.Cancel();
  }
  void Flush() {
    writer_.EndPage();
    invocation_.out().flush();
  }

  Invocation& invocation_;
  const WatchCommandOptions& options_;
  Cancellation& stop_;
  ListWriter writer_;
  uint64_t events_ = 0;
  bool complete_ = false;
  bool broken_ = false;
  bool was_connected_ = false;
  absl::Status last_break_;
};

void WatchPrinter::Show(const v1::Process& process) {
  Print({.event = "LIVE",
         .message = &process,
         .time = Rfc3339(ToTime(process.create_time())),
         .pid = process.pid(),
         .type = process.process_type(),
         .how = EnumName(process.state()),
         .steps = std::to_string(process.steps()),
         .method = process.method(),
         .priority = std::to_string(process.priority()),
         .parent = process.parent_pid(),
         .name = process.names().empty() ? "" : process.names(0)});
}

void WatchPrinter::Show(const v1::ProcessStarted& started) {
  Print({.event = "STARTED",
         .message = &started,
         .time = Rfc3339(ToTime(started.create_time())),
         .pid = started.pid(),
         .type = started.process_type(),
         .method = started.method(),
         .priority = std::to_string(started.priority()),
         .parent = started.parent_pid()});
  CountOne();
}

void WatchPrinter::Show(const v1::ProcessEnded& ended) {
  Print({.event = "ENDED",
         .message = &ended,
         .time = Rfc3339(ToTime(ended.end_time())),
         .pid = ended.pid(),
         .type = ended.process_type(),
         .how = HowItEnded(ended),
         .steps = std::to_string(ended.steps()),
         .parent = ended.parent_pid()});
  CountOne();
}

void WatchPrinter::Missed(uint64_t count) {
  v1::MissedProcessEvents missed;
  missed.set_count(count);
  Mark("MISSED", &missed);
  const std::string what =
      count == 0 ? "an unknown number of" : WithThousands(count);
  invocation_.Complain(
      what + " events were missed" +
      (options_.no_snapshot ? "" : "; what lives now follows"));
}

ProcessWatchOptions WatchPrinter::Options() {
  ProcessWatchOptions watch;
  watch.process_type = options_.process_type;
  watch.parent_pid = options_.parent;
  watch.labels = options_.labels;
  watch.resume_token = options_.resume;
  watch.skip_snapshot = options_.no_snapshot;
  watch.on_parent = [this](const std::string& pid) {
    invocation_.Complain(options_.parent + " is " + pid +
                         ": watching the children of this process");
  };
  watch.on_snapshot = [this] {
    Mark("SNAPSHOT");
    if (writer_.empty() && !options_.process_type.empty()) {
      WarnOfUnknownType(invocation_, options_.process_type, "");
    }
  };
  watch.on_process = [this](const v1::Process& process) { Show(process); };
  watch.on_snapshot_end = [this] { Mark("SNAPSHOT_END"); };
  watch.on_started = [this](const v1::ProcessStarted& one) { Show(one); };
  watch.on_ended = [this](const v1::ProcessEnded& one) { Show(one); };
  watch.on_missed = [this](uint64_t count) { Missed(count); };
  watch.on_told = [this] { Flush(); };
  watch.on_connected = [this] {
    was_connected_ = true;
    if (std::exchange(broken_, false)) invocation_.Complain("connected again");
  };
  watch.on_broken = [this](const absl::Status& why, absl::Duration delay) {
    broken_ = true;
    last_break_ = why;
    if (!was_connected_ && IsRefusal(why)) return stop_.Cancel();
    invocation_.Complain(DescribeBreak(invocation_.options().endpoint(), why) +
                         "; trying again in " + ShortDuration(delay));
  };
  return watch;
}

ExitStatus RunWatch(Invocation& invocation,
                    const WatchCommandOptions& options) {
  absl::Time end = absl::InfiniteFuture();
  if (!options.duration.empty()) {
    const auto duration = ParseDuration(options.duration);
    if (!duration.ok()) {
      return invocation.Fail(
          UsageError("--for: " + std::string(duration.status().message())));
    }
    end = absl::Now() + *duration;
  }
  Cancellation stop;
  WatchPrinter printer(invocation, options, stop);
  ProcessWatch watch(invocation.options().endpoint(), printer.Options());
  // The deadline of --timeout is an error, the end of --for is not.
  Alarm timeout(invocation.environment().cancellation, invocation.deadline(),
                stop);
  Alarm enough(invocation.environment().cancellation, end, stop);
  const absl::Status status = watch.Run(stop);
  printer.Finish();
  if (!status.ok()) return invocation.Fail(status);
  if (!watch.resume_token().empty()) {
    invocation.Complain("to go on here: --resume " + watch.resume_token());
  }
  if (printer.complete()) return ExitStatus::kDone;
  if (invocation.environment().cancellation.cancelled()) {
    return ExitStatus::kInterrupted;
  }
  if (timeout.rang() && !enough.rang()) return ExitStatus::kDeadline;
  const absl::Status unreached = printer.Unreached();
  return unreached.ok() ? ExitStatus::kDone : invocation.Fail(unreached);
}

constexpr char kWatchFooter[] = R"(
Prints a line for each live process (LIVE), and from then on a line for each process that
starts (STARTED, when its Init has returned) or ends (ENDED; HOW is DONE, or the reason of
the failure). Lines of live processes have their NAME, if one of the first has a name. For
each process STARTED comes before ENDED, each of them once.

watch retries a lost connection and continues where it was. If the daemon has restarted, or
no longer keeps the events since then, watch reports the missed events on standard error
and prints the live processes, unless --no-snapshot is given. JSON and YAML have lines for
this: MISSED, SNAPSHOT, SNAPSHOT_END.

Runs until it is interrupted (130), until --for is over, or until --count events. The exit
status is 5 if the daemon was never reached, and 1 if it refused the first attempt. At the
end it prints the token with which to resume; after --count the last few events may be
repeated.

Examples:
  actorctl watch --type order
  actorctl watch --no-snapshot -o jsonl | jq -r 'select(.failure) | .pid'
  actorctl watch --parent "$pid" --for 1m
  actorctl watch --count 1 --no-snapshot --type order -o name
)";

}  // namespace

void AddWatch(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<WatchCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "watch", "Print live processes, then each start and end");
  command->footer(kWatchFooter);
  command
      ->add_option("--type", options->process_type,
                   "Only processes of this type")
      ->type_name("NAME");
  command
      ->add_option("--parent", options->parent,
                   "Only children of this process: a PID or @NAME. The name "
                   "is looked up once")
      ->type_name("PID");
  AddLabelFilter(*command, options->labels);
  command->add_flag("--no-snapshot", options->no_snapshot,
                    "Do not print processes that are live already");
  command
      ->add_option("--resume", options->resume,
                   "Resume where a watch with the same filters ended")
      ->type_name("TOKEN");
  command->add_option("--for", options->duration, "End after this long")
      ->type_name("DURATION");
  command
      ->add_option("--count", options->count,
                   "End after N starts and ends [no limit]")
      ->type_name("N");
  command->callback([&chosen, options] {
    chosen = [options](Invocation& invocation) {
      return RunWatch(invocation, *options);
    };
  });
}

}  // namespace actord::client
