// The commands of actorctl, one in each file. Each Add* declares a subcommand
// with its options. When the command line names the subcommand, it stores its
// action in `chosen`, which must live until the parsing is over.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

using Action = std::function<ExitStatus(Invocation&)>;

void AddSubmit(CLI::App& app, Action& chosen);
void AddSend(CLI::App& app, Action& chosen);
void AddCall(CLI::App& app, Action& chosen);
void AddNames(CLI::App& app, Action& chosen);
void AddAwait(CLI::App& app, Action& chosen);
void AddPs(CLI::App& app, Action& chosen);
void AddTree(CLI::App& app, Action& chosen);
void AddDescribe(CLI::App& app, Action& chosen);
void AddHistory(CLI::App& app, Action& chosen);
void AddRecord(CLI::App& app, Action& chosen);
void AddQuarantine(CLI::App& app, Action& chosen);
void AddFailures(CLI::App& app, Action& chosen);
void AddStuck(CLI::App& app, Action& chosen);
void AddLogs(CLI::App& app, Action& chosen);
void AddLogLevel(CLI::App& app, Action& chosen);
void AddCancel(CLI::App& app, Action& chosen);
void AddTerminate(CLI::App& app, Action& chosen);
void AddYields(CLI::App& app, Action& chosen);
void AddDeadLetters(CLI::App& app, Action& chosen);
void AddComplete(CLI::App& app, Action& chosen);
void AddWatch(CLI::App& app, Action& chosen);
void AddSubscribe(CLI::App& app, Action& chosen);
void AddWork(CLI::App& app, Action& chosen);
void AddSchedule(CLI::App& app, Action& chosen);
void AddPlugin(CLI::App& app, Action& chosen);
void AddStatus(CLI::App& app, Action& chosen);
void AddClients(CLI::App& app, Action& chosen);
void AddWorkers(CLI::App& app, Action& chosen);
void AddContext(CLI::App& app, Action& chosen);
void AddTop(CLI::App& app, Action& chosen);
void AddBench(CLI::App& app, Action& chosen);
void AddToken(CLI::App& app, Action& chosen);
void AddBackup(CLI::App& app, Action& chosen);
void AddStore(CLI::App& app, Action& chosen);
void AddShutdown(CLI::App& app, Action& chosen);
void AddHealth(CLI::App& app, Action& chosen);
void AddHelp(CLI::App& app, Action& chosen);
void AddCompletion(CLI::App& app, Action& chosen);
void AddVersion(CLI::App& app, Action& chosen);

}  // namespace actord::client
