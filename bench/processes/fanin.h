// Many producers that send to one sink, which counts.
//
// A mailbox is bounded, and whoever sends more than fits loses it; so the
// producers ask for room as a sender over a network does. Each has at most two
// batches under way and sends the next when the sink has seen the end of one.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

struct FaninInput {
  int64_t producers;
  int64_t each;   // messages a producer
  int64_t batch;  // messages; the sink holds at most 2 * batch * producers
};

struct FaninNumber {
  int64_t value;
  bool ends_batch;
};

// Input: how many messages in all. Sends their sum to its parent.
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

// Ends when the sink has seen all that it sent.
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

// Ends with what the sink sends.
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
      // A producer that there was no room for is missed by the sink.
      static_cast<void>(out.Spawn(FaninProducer::kName, {}, Binary(producer)));
    }
  }

 private:
  FaninInput input_ = {};
};

}  // namespace actord::bench
