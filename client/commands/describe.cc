// actorctl describe

#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/output/message_json.h"
#include "client/output/process_fields.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

ExitStatus RunDescribe(Invocation& invocation, const std::string& pid) {
  v1::GetProcessRequest request;
  request.set_pid(pid);
  const auto response =
      invocation.client().GetProcess(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const v1::Process& process = response->process();
  WriteOne(invocation.out(), invocation.style(), ToJson(process), process.pid(),
           [&] {
             WriteFields(invocation.out(), ProcessFields(process, absl::Now()));
           });
  return ExitStatus::kDone;
}

}  // namespace

void AddDescribe(CLI::App& app, Action& chosen) {
  auto pid = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("describe", "Show one process");
  command->footer(
      "\nExamples:\n"
      "  actorctl describe \"$pid\"\n"
      "  actorctl describe \"$pid\" -o json | jq .state");
  command->add_option("PID", *pid, "Process")->required()->type_name("");
  command->callback([&chosen, pid] {
    chosen = [pid](Invocation& invocation) {
      return RunDescribe(invocation, *pid);
    };
  });
}

}  // namespace actord::client
