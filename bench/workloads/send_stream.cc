// SendStream to a separate daemon: 100 messages of 64 bytes in each write, to
// 1000 processes. Measured from the first write until every process has
// received all its messages.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/processes/drain.h"
#include "bench/rpc/bulk_load.h"
#include "bench/workload.h"
#include "bench/workloads/bulk_stream.h"

namespace actord::bench {
namespace {

constexpr int kReceivers = 1000;
constexpr int kItemsAWrite = 100;
constexpr size_t kItemBytes = 64;
constexpr uint64_t kItems = 3'000'000;
constexpr uint64_t kMaxUnacked = 20'000;

using Sends = BulkLoad<v1::SendStreamRequest, v1::SendStreamResponse>;
using Submits = BulkLoad<v1::SubmitStreamRequest, v1::SubmitStreamResponse>;

// Processes that count their messages and return the count when they end.
class Receivers {
 public:
  explicit Receivers(v1::ActorService::Stub& stub)
      : pids_(kReceivers),
        stream_([this] { return Next(); },
                [this](const auto& response) { Take(response); }) {
    for (int i = 0; i < kReceivers; ++i) {
      request_.add_submissions()->set_process_type(Drain::kName);
    }
    request_.set_await_outcomes(true);
    stream_.Begin([&stub](auto* context, auto* reactor) {
      stub.async()->SubmitStream(context, reactor);
    });
    stream_.WaitUntil([this] { return submitted_ == kReceivers; });
  }

  [[nodiscard]] const std::vector<std::string>& pids() const { return pids_; }
  // Waits until all have ended; returns the sum of their counts.
  uint64_t WaitForAll() {
    stream_.WaitUntil([this] { return ended_ == kReceivers; });
    return received_;
  }
  void Finish() { stream_.Finish(); }

 private:
  const v1::SubmitStreamRequest* Next() {
    return std::exchange(written_, true) ? nullptr : &request_;
  }
  void Take(const v1::SubmitStreamResponse& response) {
    for (const v1::SubmissionNews& news : response.news()) {
      if (news.has_submitted()) {
        pids_[news.index()] = news.submitted().pid();
        ++submitted_;
      }
      if (!news.has_outcome()) continue;
      received_ +=
          std::strtoull(news.outcome().result().data().c_str(), nullptr, 10);
      ++ended_;
    }
  }

  v1::SubmitStreamRequest request_;
  bool written_ = false;
  std::vector<std::string> pids_;
  int submitted_ = 0;
  int ended_ = 0;
  uint64_t received_ = 0;
  Submits stream_;
};

// Batches for all receivers in turn, filled by `fill`.
template <typename Fill>
std::vector<v1::SendStreamRequest> Batches(const std::vector<std::string>& pids,
                                           Fill fill) {
  std::vector<v1::SendStreamRequest> batches(kReceivers / kItemsAWrite);
  for (size_t i = 0; i < pids.size(); ++i) {
    v1::SendRequest& item = *batches[i / kItemsAWrite].add_sends();
    item.set_pid(pids[i]);
    fill(item);
  }
  return batches;
}

// Returns the duration in seconds.
double SendAll(v1::ActorService::Stub& stub) {
  Receivers receivers(stub);
  const auto data = Batches(receivers.pids(), [](v1::SendRequest& item) {
    item.mutable_payload()->set_data(std::string(kItemBytes, 'x'));
  });
  const auto ends = Batches(
      receivers.pids(), [](v1::SendRequest& item) { item.set_topic("end"); });
  uint64_t written = 0, acked = 0, refused = 0;
  const Stopwatch stopwatch;
  Sends sends(
      [&]() -> const v1::SendStreamRequest* {
        if (written == kItems + kReceivers || written - acked >= kMaxUnacked) {
          return nullptr;
        }
        const auto& batches = written < kItems ? data : ends;
        const size_t number = written / kItemsAWrite % batches.size();
        written += kItemsAWrite;
        return &batches[number];
      },
      [&](const v1::SendStreamResponse& response) {
        acked = response.acked_count();
        refused += static_cast<uint64_t>(response.refusals_size());
      });
  sends.Begin([&stub](auto* context, auto* reactor) {
    stub.async()->SendStream(context, reactor);
  });
  const uint64_t received = receivers.WaitForAll();
  const double seconds = stopwatch.Seconds();
  sends.WaitUntil([&] { return acked == kItems + kReceivers; });
  sends.Finish();
  receivers.Finish();
  Expect("the count of refused messages", 0, refused);
  Expect("the count of messages received", kItems, received);
  return seconds;
}

}  // namespace

Json RunSendStream(const WorkloadOptions& options) {
  return RunBulkRounds(options, kItems, "messages_per_second", SendAll);
}

}  // namespace actord::bench
