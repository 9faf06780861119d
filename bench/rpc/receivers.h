// Processes that a workload sends to in bulk, and batches of messages for them.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/rpc/bulk_load.h"

namespace actord::bench {

// Processes that count their messages and end with the count at the topic
// "end", as Drain.
class Receivers {
 public:
  Receivers(v1::ActorService::Stub& stub, const char* process_type, int count,
            v1::Durability durability)
      : count_(count),
        pids_(static_cast<size_t>(count)),
        stream_([this] { return Next(); },
                [this](const auto& response) { Take(response); }) {
    for (int i = 0; i < count; ++i) {
      v1::SubmitRequest& submission = *request_.add_submissions();
      submission.set_process_type(process_type);
      submission.set_durability(durability);
    }
    request_.set_await_outcomes(true);
    stream_.Begin([&stub](auto* context, auto* reactor) {
      stub.async()->SubmitStream(context, reactor);
    });
    stream_.WaitUntil([this] { return submitted_ == count_; });
  }

  [[nodiscard]] const std::vector<std::string>& pids() const { return pids_; }
  // Waits until all have ended; returns the sum of their counts.
  uint64_t WaitForAll() {
    stream_.WaitUntil([this] { return ended_ == count_; });
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

  const int count_;
  v1::SubmitStreamRequest request_;
  bool written_ = false;
  std::vector<std::string> pids_;
  int submitted_ = 0;
  int ended_ = 0;
  uint64_t received_ = 0;
  BulkLoad<v1::SubmitStreamRequest, v1::SubmitStreamResponse> stream_;
};

// Batches of `items` messages for all receivers in turn, filled by `fill`.
template <typename Fill>
std::vector<v1::SendStreamRequest> Batches(const std::vector<std::string>& pids,
                                           size_t items, Fill fill) {
  std::vector<v1::SendStreamRequest> batches(pids.size() / items);
  for (size_t i = 0; i < pids.size(); ++i) {
    v1::SendRequest& item = *batches[i / items].add_sends();
    item.set_pid(pids[i]);
    fill(item);
  }
  return batches;
}

}  // namespace actord::bench
