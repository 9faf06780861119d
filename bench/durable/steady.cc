// A constant rate of durable messages for a long time: how much of the disk the
// store takes, and how many bytes are written for a message.
//
// Batches of 100 messages of 64 bytes go to 1000 processes over one SendStream,
// each batch at its time. The directory's size is read each second.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/durable/durable_server.h"
#include "bench/median.h"
#include "bench/processes/durable.h"
#include "bench/rpc/receivers.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr int kSteadyReceivers = 1000;
constexpr uint64_t kSteadyBatch = 100;
constexpr size_t kSteadyItemBytes = 64;

uint64_t DirectoryBytes(const std::string& directory) {
  uint64_t bytes = 0;
  // The daemon removes files meanwhile.
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory, error)) {
    const uint64_t size = entry.file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

// The largest of each tenth of the samples, in MiB.
std::vector<double> LargestOfTenths(const std::vector<uint64_t>& samples) {
  std::vector<double> tenths;
  for (size_t i = 0; i < 10; ++i) {
    const auto begin = samples.begin() + i * samples.size() / 10;
    const auto end = samples.begin() + (i + 1) * samples.size() / 10;
    if (begin == end) continue;
    tenths.push_back(static_cast<double>(*std::max_element(begin, end)) /
                     (1 << 20));
  }
  return tenths;
}

}  // namespace

Json RunDurableSteady(const WorkloadOptions& options) {
  using Clock = std::chrono::steady_clock;
  DurableServer server(options.workers);
  const auto stub = server.NewStub();
  Receivers receivers(*stub, DurableDrain::kName, kSteadyReceivers,
                      v1::DURABILITY_DURABLE);
  const auto batches =
      Batches(receivers.pids(), kSteadyBatch, [](v1::SendRequest& item) {
        item.mutable_payload()->set_data(std::string(kSteadyItemBytes, 'x'));
      });
  grpc::ClientContext context;
  const auto stream = stub->SendStream(&context);
  uint64_t refused = 0;
  std::thread reader([&stream, &refused] {
    v1::SendStreamResponse response;
    while (stream->Read(&response)) {
      refused += static_cast<uint64_t>(response.refusals_size());
    }
  });
  const auto total = static_cast<uint64_t>(
      static_cast<double>(options.messages_per_second) * options.minutes * 60);
  const auto a_batch = std::chrono::nanoseconds(
      1'000'000'000 * kSteadyBatch /
      static_cast<uint64_t>(options.messages_per_second));
  std::vector<uint64_t> samples;
  const uint64_t written_before = server.WrittenBytes();
  const Stopwatch stopwatch;
  auto due = Clock::now();
  auto sample_due = due;
  for (uint64_t sent = 0; sent < total; sent += kSteadyBatch) {
    due += a_batch;
    std::this_thread::sleep_until(due);
    if (!stream->Write(batches[sent / kSteadyBatch % batches.size()])) {
      Fail("the stream has ended");
    }
    if (const auto now = Clock::now(); now >= sample_due) {
      samples.push_back(DirectoryBytes(server.directory() + "/store"));
      sample_due = now + std::chrono::seconds(1);
    }
  }
  const double seconds = stopwatch.Seconds();
  for (const auto& ends :
       Batches(receivers.pids(), kSteadyBatch,
               [](v1::SendRequest& item) { item.set_topic("end"); })) {
    if (!stream->Write(ends)) Fail("the stream has ended");
  }
  stream->WritesDone();
  reader.join();
  const grpc::Status status = stream->Finish();
  if (!status.ok()) Fail(status.error_message());
  const uint64_t received = receivers.WaitForAll();
  const uint64_t written = server.WrittenBytes() - written_before;
  receivers.Finish();
  Expect("the count of refused messages", 0, refused);
  Expect("the count of messages received", total, received);
  Json figures = Figures(static_cast<int64_t>(total), seconds);
  figures["messages_per_second"] = static_cast<double>(total) / seconds;
  figures["disk_mib_largest_of_tenths"] = LargestOfTenths(samples);
  figures["written_bytes_per_op"] =
      static_cast<double>(written) / static_cast<double>(total);
  return figures;
}

}  // namespace actord::bench
