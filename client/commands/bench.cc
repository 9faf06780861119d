// actorctl bench

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/bench/load.h"
#include "client/bench/report.h"
#include "client/bench/requests.h"
#include "client/cli/input.h"
#include "client/commands/commands.h"
#include "client/output/progress.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

using bench::Load;
using bench::LoadOptions;
using bench::Mode;
using bench::RequestOptions;
using bench::Requests;

constexpr absl::Duration kLongestDuration = absl::Hours(24);
constexpr size_t kMostInFlight = 10'000;
constexpr size_t kMostProcesses = 10'000;
constexpr size_t kMostConnections = 1000;
constexpr double kHighestRate = 10e6;
constexpr absl::Duration kTick = absl::Milliseconds(50);
// How long open requests may go on when no request begins any more.
constexpr absl::Duration kGrace = absl::Seconds(5);
constexpr absl::Duration kGraceAfterInterrupt = absl::Seconds(1);
// How long the processes may take to end after their cancel.
constexpr absl::Duration kEndDeadline = absl::Seconds(5);

// The arguments as the parser has read them.
struct BenchFlags {
  std::string mode;
  std::string duration = "10s";
  double rate = 0;
  size_t in_flight = 64;
  size_t connections = 1;
  size_t processes = 16;
  std::string process_type;
  std::string method;
  std::string topic;
  bool has_topic = false;
  size_t payload_size = 0;
  std::string payload;
  bool has_payload = false;
  std::string content_type;
  bool is_durable = false;
  bool is_volatile = false;
};

const std::map<std::string, Mode>& Modes() {
  static const auto& modes = *new std::map<std::string, Mode>{
      {"call", Mode::kCall}, {"send", Mode::kSend}, {"submit", Mode::kSubmit}};
  return modes;
}

// Of the example plugins: a counter answers and lives on, an echo ends at once.
constexpr char kCounter[] = "counter";
constexpr char kEcho[] = "echo";

absl::StatusOr<v1::Payload> PayloadOf(const BenchFlags& flags,
                                      const Environment& environment) {
  if (flags.has_payload) {
    return ReadPayload(flags.payload, flags.content_type, environment.stdin_fd,
                       environment.cancellation);
  }
  v1::Payload payload;
  // A counter adds 0 for any number of zeros.
  payload.set_data(std::string(flags.payload_size, '0'));
  payload.set_content_type(flags.content_type.empty()
                               ? GuessContentType(payload.data())
                               : flags.content_type);
  return payload;
}

absl::StatusOr<RequestOptions> RequestsOf(const BenchFlags& flags,
                                          const Environment& environment) {
  RequestOptions options;
  options.mode = Modes().at(flags.mode);
  const bool is_submit = options.mode == Mode::kSubmit;
  if (is_submit && flags.has_topic) {
    return UsageError("--topic is for \"call\" and \"send\"");
  }
  const std::string type = !flags.process_type.empty() ? flags.process_type
                           : is_submit                 ? kEcho
                                                       : kCounter;
  options.topic = flags.has_topic ? flags.topic : type == kCounter ? "add" : "";
  auto payload = PayloadOf(flags, environment);
  if (!payload.ok()) return payload.status();
  options.payload = *std::move(payload);
  options.start.set_process_type(type);
  options.start.set_method(flags.method);
  if (flags.is_durable) options.start.set_durability(v1::DURABILITY_DURABLE);
  if (flags.is_volatile) options.start.set_durability(v1::DURABILITY_VOLATILE);
  if (is_submit) *options.start.mutable_input() = options.payload;
  options.processes = flags.processes;
  options.connections = flags.connections;
  options.in_flight = flags.in_flight;
  return options;
}

absl::StatusOr<LoadOptions> LoadOf(const BenchFlags& flags) {
  const auto duration = ParseDuration(flags.duration);
  if (!duration.ok() || *duration == absl::ZeroDuration() ||
      *duration > kLongestDuration) {
    return UsageError("--duration: \"" + flags.duration +
                      "\" is not a duration such as 10s, above 0 and at most "
                      "24h");
  }
  return LoadOptions{.duration = absl::ToChronoNanoseconds(*duration),
                     .in_flight = flags.in_flight,
                     .rate = flags.rate};
}

// Returns when the load has stopped, after its duration, an interruption, the
// deadline of the command, or an error that stops it.
void Watch(Invocation& invocation, Load& load,
           std::chrono::nanoseconds duration) {
  Progress progress(invocation.err(), invocation.wants_progress(),
                    invocation.environment().terminal_width);
  const absl::Time start = absl::Now();
  while (!load.WaitUntilStopped(std::chrono::nanoseconds(0))) {
    if (!invocation.Pause(kTick) || absl::Now() >= invocation.deadline()) break;
    const bench::LoadCounts counts = load.counts();
    progress.Update({.begun = counts.begun,
                     .finished = counts.finished,
                     .failed = counts.failed,
                     .fraction = absl::FDivDuration(
                         absl::Now() - start, absl::FromChrono(duration))},
                    absl::Now());
  }
  load.Stop();
}

// Ends the open requests and the processes.
absl::Status End(Invocation& invocation, Load& load, Requests& requests) {
  const bool interrupted = invocation.environment().cancellation.cancelled();
  const bool idle = load.WaitUntilIdle(
      absl::ToChronoNanoseconds(interrupted ? kGraceAfterInterrupt : kGrace));
  const absl::Status cancelled = requests.CancelProcesses(kEndDeadline);
  if (!idle && cancelled.ok()) {
    load.WaitUntilIdle(absl::ToChronoNanoseconds(2 * kEndDeadline));
  }
  requests.CancelAll();
  if (!cancelled.ok()) return cancelled;
  return requests.AwaitProcesses(2 * kEndDeadline);
}

ExitStatus Report(Invocation& invocation, const bench::LoadResult& result,
                  const absl::Status& ended) {
  const bool interrupted = invocation.environment().cancellation.cancelled();
  ExitStatus status = ExitStatus::kDone;
  if (result.unsent > 0) {
    invocation.Complain(
        WithThousands(result.unsent) +
        (result.unsent == 1 ? " request was due and has not begun"
                            : " requests were due and have not begun") +
        ": the daemon, or this client, cannot keep the rate. The latencies do "
        "not include them");
  }
  if (result.begun > result.answered) status = ExitStatus::kFailed;
  if (!result.fatal.ok() && !interrupted) {
    status = invocation.Fail(result.fatal, "stopped");
  }
  if (absl::Now() >= invocation.deadline()) {
    invocation.Complain("stopped: --timeout has passed");
    status = ExitStatus::kDeadline;
  }
  if (!ended.ok()) {
    // Not Fail, which says only "interrupted" after an interruption.
    invocation.Complain("some processes of the benchmark may still run: " +
                        Describe(ended));
    if (status == ExitStatus::kDone) status = ExitStatusOf(ended);
  }
  if (interrupted) {
    invocation.Complain("interrupted");
    status = ExitStatus::kInterrupted;
  }
  return status;
}

ExitStatus RunBench(Invocation& invocation, const BenchFlags& flags) {
  const auto load_options = LoadOf(flags);
  if (!load_options.ok()) return invocation.Fail(load_options.status());
  const auto request_options = RequestsOf(flags, invocation.environment());
  if (!request_options.ok()) return invocation.Fail(request_options.status());

  Requests requests(invocation, *request_options);
  if (const absl::Status opened = requests.Open(); !opened.ok()) {
    const ExitStatus status = invocation.Fail(opened);
    // The connection may be what has failed.
    (void)requests.CancelProcesses(kEndDeadline);
    return status;
  }
  Load load(*load_options, [&requests](uint64_t index, auto finished) {
    requests.Begin(index, std::move(finished));
  });
  load.Start();
  Watch(invocation, load, load_options->duration);
  const absl::Status ended = End(invocation, load, requests);
  const bench::LoadResult result = load.result();
  bench::WriteMeasurement(invocation, {.requests = *request_options,
                                       .load = *load_options,
                                       .is_durable = requests.is_durable(),
                                       .result = result});
  // Earlier output must come before the complaints.
  invocation.out().flush();
  return Report(invocation, result, ended);
}

constexpr char kBenchFooter[] = R"(
MODE is what one request is, and when it is answered:
  call    a call to a process; its answer is there
  send    a message to a process; the message is in its mailbox
  submit  the start of a process; its result is there

Without --rate the load is closed: --in-flight requests are always open, and an answer
begins the next request. It shows the highest rate. With --rate the load is open: requests
are due at that rate however slow the answers are, and latency counts from then. It shows
the latency at that rate. Latency is measured here, so it includes the network and actorctl.

call and send use processes of the example type "counter" with the topic "add", submit uses
"echo"; --type names another. The benchmark ends every process that it has started, also
after Ctrl-C, and prints what it has measured until then. A second Ctrl-C ends actorctl at
once and leaves the processes.

The exit status is 1 if any request failed.

Examples:
  actorctl bench
  actorctl bench call --rate 5000 --duration 30s
  actorctl bench send --payload-size 1024 --in-flight 256 --connections 4
  actorctl bench submit --volatile -o json | jq .latency_seconds.p99
  actorctl bench call --type cart --topic total --payload '{"currency": "EUR"}'
)";

void AddLoadOptions(CLI::App& command, BenchFlags& flags) {
  command
      .add_option("--duration", flags.duration,
                  "How long requests begin, at most 24h")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      .add_option("--rate", flags.rate,
                  "Requests a second, due at fixed times [as many as "
                  "--in-flight allows]")
      ->check(CLI::Range(0.001, kHighestRate).description(""))
      ->type_name("N");
  command
      .add_option("--in-flight", flags.in_flight,
                  "Maximum number of open requests, over all connections")
      ->check(CLI::Range(size_t{1}, kMostInFlight).description(""))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--connections", flags.connections,
                  "Connections that take the requests in turn; submit waits "
                  "for results on as many again")
      ->check(CLI::Range(size_t{1}, kMostConnections).description(""))
      ->type_name("N")
      ->capture_default_str();
}

void AddProcessOptions(CLI::App& command, BenchFlags& flags) {
  command
      .add_option("--processes", flags.processes,
                  "For call and send: processes that take the requests in turn")
      ->check(CLI::Range(size_t{1}, kMostProcesses).description(""))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--type", flags.process_type,
                  "Process type [counter; for submit echo]")
      ->type_name("NAME");
  command
      .add_option("--method", flags.method,
                  "Method to start [the type's first]")
      ->type_name("NAME");
  auto* const durable = command.add_flag(
      "--durable", flags.is_durable,
      "The processes survive the daemon, so each request waits for its disk");
  command
      .add_flag("--volatile", flags.is_volatile,
                "The processes end with the daemon. By default they survive it "
                "if the daemon has a store and the type supports it")
      ->excludes(durable);
}

}  // namespace

void AddBench(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<BenchFlags>();
  flags->mode = "call";
  CLI::App* command = app.add_subcommand(
      "bench", "Measure the rate and the latency of the daemon");
  command->footer(kBenchFooter);
  std::vector<std::string> modes;
  for (const auto& [name, mode] : Modes()) modes.push_back(name);
  command->add_option("MODE", flags->mode, "What one request is")
      ->check(CLI::IsMember(modes).description(""))
      ->type_name("call|send|submit")
      ->capture_default_str();
  AddLoadOptions(*command, *flags);
  AddProcessOptions(*command, *flags);
  auto* const topic =
      command
          ->add_option("--topic", flags->topic,
                       "Topic of calls and messages [add for the type counter]")
          ->type_name("TEXT");
  auto* const size =
      command
          ->add_option("--payload-size", flags->payload_size,
                       "Size of each payload, or input, in bytes; its bytes "
                       "are the digit 0")
          ->check(CLI::Range(size_t{0}, kMaxInputBytes).description(""))
          ->type_name("N")
          ->capture_default_str();
  auto* const payload = command
                            ->add_option("--payload", flags->payload,
                                         "Payload, or input: text, @FILE or -")
                            ->type_name("TEXT")
                            ->excludes(size);
  command
      ->add_option("--content-type", flags->content_type,
                   "Content type of the payload [guessed from the data]")
      ->type_name("TYPE");
  command->callback([&chosen, flags, topic, payload] {
    flags->has_topic = topic->count() > 0;
    flags->has_payload = payload->count() > 0;
    chosen = [flags](Invocation& invocation) {
      return RunBench(invocation, *flags);
    };
  });
}

}  // namespace actord::client
