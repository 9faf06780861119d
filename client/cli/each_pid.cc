#include "client/cli/each_pid.h"

#include "client/output/message_json.h"
#include "nlohmann/json.hpp"

namespace actord::client {

ExitStatus ForEachPid(
    Invocation& invocation, const std::vector<std::string>& pids,
    const std::function<absl::StatusOr<v1::Receipt>(const std::string& pid)>&
        call) {
  ExitStatus result = ExitStatus::kDone;
  ListWriter writer(invocation.out(), invocation.style(), {});
  for (const std::string& pid : pids) {
    const absl::StatusOr<v1::Receipt> receipt = call(pid);
    if (!receipt.ok()) {
      const ExitStatus failed = invocation.Fail(
          receipt.status(), pids.size() > 1 ? "process " + pid : "");
      if (result == ExitStatus::kDone) result = failed;
      if (failed == ExitStatus::kInterrupted ||
          failed == ExitStatus::kUnavailable) {
        break;
      }
    } else if (!invocation.ForPeople()) {
      writer.Add(
          {.json =
               [&] {
                 return Json{{"pid", pid}, {"receipt", EnumName(*receipt)}};
               },
           .name = [&] { return pid; },
           .cells = nullptr});
    }
  }
  writer.Finish();
  return result;
}

}  // namespace actord::client
