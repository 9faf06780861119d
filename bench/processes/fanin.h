// Many producers that send to one sink, which counts.
//
// Mailboxes are bounded, and messages to a full mailbox are lost. So the
// producers use flow control, like a sender over a network. Each has at most
// two batches in flight and sends the next one when the sink has received the
// end of a batch.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

struct FaninInput {
  int64_t producers;
  // Messages of one producer.
  int64_t each;
  // Messages of one batch. The sink's mailbox holds at most 2 * batch *
  // producers.
  int64_t batch;
};

struct FaninNumber {
  int64_t value;
  bool ends_batch;
};

// Input: the total number of messages. Sends the sum of their numbers to its
// parent.
class FaninSink : public Process {
 public:
  static constexpr const char* kName = "bench.fanin_sink";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    left_ = ReadAs<int64_t>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      const auto number = ReadAs<FaninNumber>(event.payload().bytes);
      sum_ += number.value;
      if (number.ends_batch) out.Send(event.from(), {});
      if (--left_ == 0) {
        out.Send(out.parent(), {}, Binary(sum_));
        out.Done();
      }
    }
  }

 private:
  int64_t left_ = 0;
  int64_t sum_ = 0;
};

struct FaninProducerInput {
  actord_pid sink;
  int64_t each;
  int64_t batch;
};

// Ends when the sink has received all its messages.
class FaninProducer : public Process {
 public:
  static constexpr const char* kName = "bench.fanin_producer";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<FaninProducerInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    batches_under_way_ -= static_cast<int64_t>(events.size());
    while (batches_under_way_ < kBatches && sent_ < input_.each) {
      SendBatch(out);
    }
    if (batches_under_way_ == 0) out.Done();
  }

 private:
  static constexpr int64_t kBatches = 2;

  void SendBatch(StepOutput& out) {
    ++batches_under_way_;
    const int64_t end = std::min(input_.each, sent_ + input_.batch);
    for (; sent_ < end; ++sent_) {
      const FaninNumber number = {sent_, sent_ + 1 == end};
      out.Send(input_.sink, {}, Binary(number));
    }
  }

  FaninProducerInput input_ = {};
  int64_t sent_ = 0;
  int64_t batches_under_way_ = 0;
};

// Ends with the sum that the sink sends.
class FaninRoot : public Process {
 public:
  static constexpr const char* kName = "bench.fanin";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<FaninInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    if (!events.empty()) return out.Done(events[0].payload());
    const Pid sink =
        out.Spawn(FaninSink::kName, {}, Binary(input_.producers * input_.each));
    const FaninProducerInput producer = {sink, input_.each, input_.batch};
    for (int64_t i = 0; i < input_.producers; ++i) {
      // If a spawn fails, the sink misses its messages.
      static_cast<void>(out.Spawn(FaninProducer::kName, {}, Binary(producer)));
    }
  }

 private:
  FaninInput input_ = {};
};

}  // namespace actord::bench
