// A process that spawns children and sends one message to each; the child tells
// a sink and ends.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

struct SpawnInput {
  int64_t children;
  int64_t each_step;  // so many are spawned before others get their turn
};

// Counts so many messages, and then sends the sum of their numbers to its
// parent. Input: how many.
class SpawnSink : public Process {
 public:
  static constexpr const char* kName = "bench.spawn_sink";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    left_ = ReadAs<int64_t>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      sum_ += ReadAs<int64_t>(event.payload().bytes);
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

// Input: the PID of the sink.
class SpawnChild : public Process {
 public:
  static constexpr const char* kName = "bench.spawn_child";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    sink_ = ReadAs<actord_pid>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    if (events.empty()) return;
    out.Send(sink_, {}, events[0].payload());
    out.Done();
  }

 private:
  Pid sink_;
};

// Ends with what the sink sends.
class Spawner : public Process {
 public:
  static constexpr const char* kName = "bench.spawn";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<SpawnInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    if (sink_.empty()) {
      sink_ = out.Spawn(SpawnSink::kName, {}, Binary(input_.children));
    }
    const int64_t end = std::min(input_.children, spawned_ + input_.each_step);
    for (; spawned_ < end; ++spawned_) {
      const Pid child = out.Spawn(SpawnChild::kName, {}, Binary(sink_));
      out.Send(child, {}, Binary(spawned_));
    }
    if (spawned_ < input_.children) return out.Continue();
    if (!events.empty()) out.Done(events[0].payload());
  }

 private:
  SpawnInput input_ = {};
  Pid sink_;
  int64_t spawned_ = 0;
};

}  // namespace actord::bench
