#include "client/top/sample.h"

#include <utility>

#include "client/cli/paging.h"

namespace actord::client::top {

absl::StatusOr<Sample> TakeSample(Client& client, const SampleRequest& request,
                                  const std::function<CallOptions()>& options) {
  Sample sample;
  sample.request = request;
  auto status = client.GetStatus({}, options());
  if (!status.ok()) return status.status();
  sample.status = *std::move(status);
  v1::ListProcessesRequest list;
  list.set_process_type(request.process_type);
  bool more = true;
  const absl::Status listed = ForEachElement(
      list, request.max_processes,
      [&](const v1::ListProcessesRequest& page) {
        auto response = client.ListProcesses(page, options());
        if (response.ok()) more = !response->next_page_token().empty();
        return response;
      },
      [](const v1::ListProcessesResponse& response) -> const auto& {
        return response.processes();
      },
      [&](const v1::Process& process) { sample.processes.push_back(process); },
      [] {});
  if (!listed.ok()) return listed;
  sample.complete = !more;
  return sample;
}

}  // namespace actord::client::top
