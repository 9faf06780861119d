// actorctl describe

#include <memory>
#include <string>

#include "client/cli/message_json.h"
#include "client/cli/text.h"
#include "client/commands/commands.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

void WriteTable(std::ostream& out, const v1::Process& process) {
  const absl::Time created = ToTime(process.create_time());
  WriteFields(
      out,
      {{"PID", process.pid()},
       {"Type", process.process_type()},
       {"Method", process.method()},
       {"State", EnumName(process.state())},
       {"Priority", std::to_string(process.priority())},
       {"Parent", process.parent_pid().empty() ? "-" : process.parent_pid()},
       {"Created", Rfc3339(created) + " (" +
                       ShortDuration(absl::Now() - created) + " ago)"},
       {"Steps", WithThousands(process.steps())},
       {"Mailbox", WithThousands(process.mailbox_messages()) + " events, " +
                       ShortBytes(process.mailbox_bytes())},
       {"Yields", WithThousands(process.yields_outstanding()) + " outstanding"},
       {"Cancel requested", process.cancel_requested() ? "yes" : "no"}});
}

ExitStatus RunDescribe(Invocation& invocation, const std::string& pid) {
  v1::GetProcessRequest request;
  request.set_pid(pid);
  const auto response =
      invocation.client().GetProcess(request, invocation.Quick());
  if (!response.ok()) return invocation.Fail(response.status());
  const v1::Process& process = response->process();
  WriteOne(invocation.out(), invocation.style(), ToJson(process), process.pid(),
           [&] { WriteTable(invocation.out(), process); });
  return ExitStatus::kDone;
}

}  // namespace

void AddDescribe(CLI::App& app, Action& chosen) {
  auto pid = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("describe", "Look at one process");
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
