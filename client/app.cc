#include "client/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "client/calls/endpoint.h"
#include "client/calls/token_file.h"
#include "client/cli/address.h"
#include "client/cli/tls_options.h"
#include "client/commands/commands.h"
#include "client/commands/shell/live_values.h"
#include "client/contexts/context.h"
#include "client/contexts/context_file.h"
#include "client/output/text.h"
#include "client/usage/candidates.h"
#include "client/usage/complaint.h"
#include "client/usage/help.h"
#include "identity/token_text.h"

namespace actord::client {
namespace {

// Only the scripts for completion use this command, so no help shows it.
constexpr char kCompleteWord[] = "__complete";
// A user waits at the keyboard.
constexpr absl::Duration kCompletionTimeout = absl::Seconds(1);

constexpr char kDescription[] =
    "Drives an actord daemon: starts processes, sends them messages, completes "
    "their external commands.";

constexpr char kFooter[] = R"(
A payload is TEXT itself, @FILE for the contents of a file, or - for standard input.
Put -- before arguments that begin with -.

Environment:
  ACTORD_ADDRESS       the daemon's address, unless --address is given
  ACTORD_CONTEXT       the context, unless --context is given
  ACTORD_TOKEN_FILE    the token file, unless --token-file is given
  ACTORD_CLIENT_TLS_*  as the options --tls-*, unless the option is given
  NO_COLOR             no colours, if it is not empty

Data goes to standard output, everything else to standard error. Programs read -o json, for
example with jq: actorctl ps -o json | jq -r '.[].pid'.
Exit status: 0 done, 1 the process or the request failed, 2 usage, 3 not found,
4 not allowed, 5 unavailable, 6 deadline exceeded, 78 damaged store, 130 interrupted.

Examples:
  actorctl submit echo '{"hello": "world"}' --wait
  pid=$(actorctl submit counter)
  actorctl send "$pid" 5 --topic add
  actorctl call @orders/17 --topic state
  actorctl yields --command 'payment.*'
  actorctl top --sort mailbox
  actorctl bench call --rate 5000
  actorctl complete "$token" '{"charged": true}'
  actorctl work payment.charge --exec ./charge.sh
  actorctl watch --type order
  actorctl subscribe 'price/*'
  actorctl submit echo --from-file items.jsonl --wait -o jsonl > results.jsonl
  actorctl plugin load orders-2.so --wait
  actorctl token new --file tokens.toml --name billing --role client
  actorctl context add prod --address actord.example:7600 --tls-ca ca.pem --use
  actorctl store verify /var/lib/actord/store
  actorctl backup /backup/monday
  source <(actorctl completion bash)

"actorctl help COMMAND" describes each command.
)";

const std::map<std::string, Format>& Formats() {
  static const auto& formats = *new std::map<std::string, Format>{
      {"table", Format::kTable}, {"wide", Format::kWide},
      {"json", Format::kJson},   {"jsonl", Format::kJsonl},
      {"yaml", Format::kYaml},   {"name", Format::kName}};
  return formats;
}

// The arguments as the parser has read them, before they are checked.
struct Typed {
  std::string context;
  std::string address;
  std::string token_file;
  TypedTls tls;
  std::string timeout;
  std::string format = "table";
  bool version = false;
};

void AddGlobalOptions(CLI::App& app, Typed& typed) {
  app.add_option("--address", typed.address,
                 "Address of the daemon: HOST[:PORT], [IPV6][:PORT] or "
                 "unix:PATH [$ACTORD_ADDRESS, the context's, 127.0.0.1:7600]")
      ->type_name("ADDRESS");
  app.add_option("--context", typed.context,
                 "Context that names address, TLS, token and timeout, unless "
                 "an option or a variable of the environment does; see "
                 "\"actorctl context\" [$ACTORD_CONTEXT, the context in use]")
      ->type_name("NAME");
  app.add_option(
         "--token-file", typed.token_file,
         "Token file: one token, as \"actorctl token new\" prints it, in "
         "a file of mode 0600 or 0640 (chmod 0600 PATH); without TLS the token "
         "is sent over "
         "Unix sockets and to this machine alone [$ACTORD_TOKEN_FILE, "
         "no token]")
      ->type_name("PATH");
  AddTlsOptions(app, typed.tls);
  app.add_option("--timeout", typed.timeout,
                 "Deadline of the command, such as 10s or 5m [30s; none for "
                 "commands that wait for processes]")
      ->type_name("DURATION");
  std::vector<std::string> names;
  for (const auto& [name, format] : Formats()) names.push_back(name);
  app.add_option("-o,--output", typed.format, "Output format")
      ->check(CLI::IsMember(names).description(""))
      ->type_name("table|wide|json|jsonl|yaml|name")
      ->capture_default_str();
}

void AddCommands(CLI::App& app, Action& chosen) {
  for (const auto add :
       {AddSubmit,   AddSend,      AddCall,        AddAwait,     AddPs,
        AddTree,     AddNames,     AddDescribe,    AddHistory,   AddRecord,
        AddCancel,   AddTerminate, AddQuarantine,  AddFailures,  AddStuck,
        AddLogs,     AddLogLevel,  AddDeadLetters, AddYields,    AddWorkers,
        AddComplete, AddWork,      AddWatch,       AddSubscribe, AddSchedule,
        AddPlugin,   AddStatus,    AddTop,         AddBench,     AddClients,
        AddContext,  AddToken,     AddStore,       AddBackup,    AddShutdown,
        AddHealth,   AddHelp,      AddCompletion,  AddVersion}) {
    add(app, chosen);
  }
}

bool UsesDaemon(const CLI::App& app) {
  for (const char* name :
       {"token", "context", "store", "help", "completion", "version"}) {
    if (app.got_subcommand(name)) return false;
  }
  const CLI::App* const plugin = app.get_subcommand("plugin");
  return !plugin->parsed() || !plugin->got_subcommand("check");
}

// A context, and its name for messages: "context prod".
struct NamedContext {
  std::string origin;
  Context context;
};

// The named context, or the context in use; empty: there is none.
absl::StatusOr<NamedContext> ReadContext(const Typed& typed,
                                         const Environment& environment) {
  const std::string path = ContextsPath(environment.variable);
  const bool is_typed = !typed.context.empty();
  std::string name =
      is_typed ? typed.context : environment.variable("ACTORD_CONTEXT");
  const std::string source = name.empty() ? ""
                             : is_typed   ? "--context: "
                                          : "$ACTORD_CONTEXT: ";
  if (path.empty()) {
    if (name.empty()) return NamedContext();
    return UsageError(source +
                      "there are no contexts, because neither "
                      "XDG_CONFIG_HOME nor HOME is set");
  }
  const auto contexts = ReadContexts(path);
  if (!contexts.ok()) return contexts.status();
  if (name.empty()) name = contexts->use;
  if (name.empty()) return NamedContext();
  auto context = FindContext(*contexts, name, path);
  if (!context.ok()) {
    return UsageError(source + std::string(context.status().message()));
  }
  return NamedContext{"context " + name, *std::move(context)};
}

// Whether the command names a context, or no address.
bool NeedsContext(const Typed& typed, const Environment& environment) {
  return !typed.context.empty() ||
         !environment.variable("ACTORD_CONTEXT").empty() ||
         (typed.address.empty() &&
          environment.variable("ACTORD_ADDRESS").empty());
}

// Sets the address. If it is not the address of the context, drops the
// context's token and TLS files, because a token is for one daemon only.
absl::Status SetAddress(const Typed& typed, const Environment& environment,
                        NamedContext& named, GlobalOptions& options) {
  const std::string variable = environment.variable("ACTORD_ADDRESS");
  const bool is_typed = !typed.address.empty();
  if (!is_typed && variable.empty()) {
    if (!named.origin.empty()) options.address = named.context.address;
    return absl::OkStatus();
  }
  options.address = WithDefaultPort(is_typed ? typed.address : variable);
  const absl::Status status = CheckAddress(options.address);
  if (!status.ok()) {
    return UsageError((is_typed ? "--address: " : "$ACTORD_ADDRESS: ") +
                      std::string(status.message()));
  }
  if (options.address != named.context.address) {
    if (!named.context.token_file.empty() || !named.context.tls.ca.empty()) {
      options.left_out = "the token and TLS of " + named.origin + " are for " +
                         named.context.address + ", and " +
                         (is_typed ? "--address" : "$ACTORD_ADDRESS") +
                         " names " + options.address;
    }
    named.context.token_file.clear();
    named.context.tls = {};
  }
  return absl::OkStatus();
}

absl::Status SetToken(const Typed& typed, const Environment& environment,
                      const NamedContext& named, GlobalOptions& options) {
  std::string path = typed.token_file;
  std::string origin = "--token-file: ";
  if (path.empty()) {
    path = environment.variable("ACTORD_TOKEN_FILE");
    origin = "$ACTORD_TOKEN_FILE: ";
  }
  if (path.empty()) {
    path = named.context.token_file;
    origin = named.origin + ": token_file: ";
  }
  if (path.empty()) return absl::OkStatus();
  auto token = ReadToken(path);
  if (!token.ok()) {
    return UsageError(origin + std::string(token.status().message()));
  }
  options.token = *std::move(token);
  const absl::Status status = CheckEndpoint(options.endpoint());
  return status.ok() ? status
                     : UsageError(origin + std::string(status.message()));
}

absl::Status SetTimeout(const Typed& typed, const NamedContext& named,
                        GlobalOptions& options) {
  const bool is_typed = !typed.timeout.empty();
  const std::string& text = is_typed ? typed.timeout : named.context.timeout;
  if (text.empty()) return absl::OkStatus();
  const auto timeout = ParseDuration(text);
  if (!timeout.ok()) {
    return UsageError(
        (is_typed ? "--timeout: " : named.origin + ": timeout: ") +
        std::string(timeout.status().message()));
  }
  options.timeout = *timeout;
  return absl::OkStatus();
}

absl::StatusOr<GlobalOptions> Check(const Typed& typed, bool uses_daemon,
                                    const Environment& environment) {
  GlobalOptions options;
  options.format = Formats().at(typed.format);
  NamedContext named;
  if (uses_daemon) {
    auto context = ReadContext(typed, environment);
    if (context.ok()) {
      named = *std::move(context);
    } else if (NeedsContext(typed, environment)) {
      return context.status();
    } else {
      environment.err << "actorctl: the contexts are left out: "
                      << OneLine(std::string(context.status().message()))
                      << "\n";
    }
  }
  absl::Status status;
  if (uses_daemon) {
    status = SetAddress(typed, environment, named, options);
    if (!status.ok()) return status;
    auto tls = ReadTlsOptions(typed.tls, environment.variable,
                              {named.context.tls, named.origin});
    if (!tls.ok()) return tls.status();
    options.tls = *std::move(tls);
    // With TLS a token may be sent to other machines.
    status = SetToken(typed, environment, named, options);
    if (!status.ok()) return status;
  }
  status = SetTimeout(typed, named, options);
  if (!status.ok()) return status;
  return options;
}

// Declares everything in `app`, which is constructed with kDescription.
void Declare(CLI::App& app, Typed& typed, Action& chosen) {
  app.fallthrough();  // global options may stand behind the command
  // So an argument may be the name of a command, as in "bench submit".
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  app.get_formatter()->column_width(32);
  app.set_version_flag("--version", ACTORD_VERSION,
                       "Print the version and exit");
  AddGlobalOptions(app, typed);
  AddCommands(app, chosen);
}

// For the completion of shells: prints the candidates for the last word.
// Silent about mistakes, because the user is still typing.
ExitStatus CompleteWords(const CLI::App& app,
                         const std::vector<std::string>& words,
                         const Environment& environment) {
  Completion completion = CompletionOf(app, words);
  CLI::App global("", "actorctl");
  Typed typed;
  AddGlobalOptions(global, typed);
  try {
    global.parse(std::vector<std::string>(completion.global.rbegin(),
                                          completion.global.rend()));
  } catch (const CLI::ParseError&) {
    typed = Typed();
  }
  auto options =
      Check(typed, completion.live != LiveValues::kContexts, environment);
  if (options.ok() && completion.live != LiveValues::kNone &&
      completion.live != LiveValues::kFiles) {
    options->timeout = kCompletionTimeout;
    Invocation invocation(environment, *options);
    for (Candidate& one : LiveCandidates(invocation, completion)) {
      completion.known.push_back(std::move(one));
    }
  }
  PrintCandidates(completion.known, completion, environment.out);
  environment.out.flush();
  return ExitStatus::kDone;
}

}  // namespace

void VisitCommands(const std::function<void(const CLI::App& app)>& visit) {
  CLI::App app(kDescription, "actorctl");
  Typed typed;
  Action chosen;
  Declare(app, typed, chosen);
  visit(app);
}

ExitStatus RunActorctl(const std::vector<std::string>& arguments,
                       const Environment& environment) {
  CLI::App app(kDescription, "actorctl");
  Typed typed;
  Action chosen;
  Declare(app, typed, chosen);
  if (!arguments.empty() && arguments.front() == kCompleteWord) {
    return CompleteWords(app, {arguments.begin() + 1, arguments.end()},
                         environment);
  }
  if (AsksForHelp(arguments)) return PrintHelp(app, arguments, environment);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // the help or version that was asked for
      app.exit(error, environment.out, environment.err);
      environment.out.flush();
      return ExitStatus::kDone;
    }
    // The complaint may repeat the arguments, which may contain a token.
    environment.err << "actorctl: "
                    << identity::RedactTokens(OneLine(ComplaintOf(app, error)))
                    << "\nRun \"" << HelpFor(DeepestParsed(app)) << "\".\n";
    return ExitStatus::kUsage;
  }

  if (!chosen) {
    return Invocation(environment, GlobalOptions())
        .Fail(UsageError("a command is required; see \"actorctl help\""));
  }
  auto options = Check(typed, UsesDaemon(app), environment);
  Invocation invocation(environment, options.ok() ? *options : GlobalOptions());
  if (!options.ok()) return invocation.Fail(options.status());
  const ExitStatus status = chosen(invocation);
  environment.out.flush();
  if (!environment.out) {
    invocation.Complain("cannot write to standard output");
    return status == ExitStatus::kDone ? ExitStatus::kFailed : status;
  }
  return status;
}

}  // namespace actord::client
