// One sender and many receivers, with flow control as in fanin.h.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/processes/wire.h"

namespace actord::bench {

struct FanoutInput {
  int64_t receivers;
  // Messages for one receiver.
  int64_t each;
  // Messages of one batch. A receiver's mailbox holds at most two batches.
  int64_t batch;
};

struct FanoutNumber {
  int64_t receiver;
  bool ends_batch;
};

// Answers the last message of a batch with the receiver's number.
class FanoutReceiver : public Process {
 public:
  static constexpr const char* kName = "bench.fanout_receiver";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      const auto number = ReadAs<FanoutNumber>(event.payload().bytes);
      ++received_;
      if (number.ends_batch) {
        out.Send(event.from(), {}, Binary(number.receiver));
      }
    }
  }

 private:
  int64_t received_ = 0;
};

// Ends when the last batch has been answered. Result: the count of answers.
class FanoutSender : public Process {
 public:
  static constexpr const char* kName = "bench.fanout";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<FanoutInput>(input.bytes);
    const int64_t batches = (input_.each + input_.batch - 1) / input_.batch;
    answers_left_ = input_.receivers * batches;
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      const auto receiver = ReadAs<int64_t>(event.payload().bytes);
      ++answers_;
      --answers_left_;
      SendBatch(static_cast<size_t>(receiver), out);
    }
    if (answers_left_ == 0) return out.Done(Binary(answers_));
    StartSome(out);
  }

 private:
  struct Receiver {
    Pid pid;
    int64_t left;
  };

  void StartSome(StepOutput& out) {
    constexpr size_t kAtOnce = 10;
    const auto all = static_cast<size_t>(input_.receivers);
    const size_t end = std::min(all, receivers_.size() + kAtOnce);
    while (receivers_.size() < end) {
      receivers_.push_back({out.Spawn(FanoutReceiver::kName), input_.each});
      SendBatch(receivers_.size() - 1, out);
      SendBatch(receivers_.size() - 1, out);
    }
    if (receivers_.size() < all) out.Continue();
  }

  void SendBatch(size_t index, StepOutput& out) {
    Receiver& receiver = receivers_[index];
    int64_t count = std::min(receiver.left, input_.batch);
    receiver.left -= count;
    for (; count > 0; --count) {
      const FanoutNumber number = {static_cast<int64_t>(index), count == 1};
      out.Send(receiver.pid, {}, Binary(number));
    }
  }

  FanoutInput input_ = {};
  std::vector<Receiver> receivers_;
  int64_t answers_left_ = 0;
  int64_t answers_ = 0;
};

}  // namespace actord::bench
