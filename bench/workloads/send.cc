// The cost of a message to 1, 10 and 1000 receivers: from a process, and from a
// thread outside.
#include <sched.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/bench_runtime.h"
#include "bench/processes/drain.h"
#include "bench/processes/fanout.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

double FromProcess(const WorkloadOptions& options, int64_t receivers) {
  const FanoutInput input = {
      .receivers = receivers, .each = 4'000'000 / receivers, .batch = 32};
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(FanoutSender::kName, BytesOf(input));
  const auto answers = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  const int64_t batches = (input.each + input.batch - 1) / input.batch;
  Expect("the count of answers", static_cast<uint64_t>(receivers * batches),
         static_cast<uint64_t>(answers));
  runtime.ExpectMessages(
      static_cast<uint64_t>(receivers * (input.each + batches)));
  return seconds * 1e9 / static_cast<double>(receivers * input.each);
}

// Waits while a mailbox is full, as a client would.
double FromOutside(const WorkloadOptions& options, size_t receivers) {
  constexpr size_t kMessages = 1'000'000;
  BenchRuntime bench(options.Runtime());
  std::vector<runtime::Pid> pids;
  for (size_t i = 0; i < receivers; ++i) {
    pids.push_back(bench.Submit(Drain::kName, {}));
  }
  const runtime::Message message;
  const Stopwatch stopwatch;
  for (size_t i = 0; i < kMessages; ++i) {
    while (true) {
      const absl::Status status =
          bench.runtime().Send(pids[i % receivers], message);
      if (status.ok()) break;
      if (status.code() != absl::StatusCode::kResourceExhausted) {
        Fail(std::string(status.message()));
      }
      sched_yield();
    }
  }
  const double seconds = stopwatch.Seconds();
  int64_t received = 0;
  for (const runtime::Pid& pid : pids) {
    bench.Send(pid, "end", {});
    received += std::stoll(bench.Await(pid));
  }
  Expect("the count of messages received", kMessages,
         static_cast<uint64_t>(received));
  return seconds * 1e9 / static_cast<double>(kMessages);
}

}  // namespace

// `ns_per_op` is the worst of the three sends from a process.
Json RunSend(const WorkloadOptions& options) {
  Json figures = {{"ns_per_op", 0.0}};
  double worst = 0;
  for (const int64_t receivers : {1, 10, 1000}) {
    const double ns = FromProcess(options, receivers);
    figures[absl::StrCat("ns_per_op_", receivers)] = ns;
    worst = std::max(worst, ns);
  }
  figures["ns_per_op"] = worst;
  for (const size_t receivers : {1, 10, 1000}) {
    figures[absl::StrCat("outside_ns_per_op_", receivers)] =
        FromOutside(options, receivers);
  }
  return figures;
}

}  // namespace actord::bench
