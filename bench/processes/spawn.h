// A process that spawns children and sends one message to each. The child sends
// to a sink and ends.
//
// The sink's mailbox is bounded, so the spawner stays at most `at_a_time`
// children ahead of it. The sink reports its progress from time to time.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

struct SpawnInput {
  int64_t children;
  // Children spawned in one step, before other processes run.
  int64_t each_step;
  // Maximum number of children that the sink has not counted yet.
  int64_t at_a_time;
};

struct SpawnSinkInput {
  int64_t children;
  int64_t report_every;
};

// The sink's report to its parent: after every `report_every` children, and
// after the last.
struct SpawnReport {
  int64_t count;
  // The sum of the children's numbers.
  int64_t sum;
};

class SpawnSink : public Process {
 public:
  static constexpr const char* kName = "bench.spawn_sink";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<SpawnSinkInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      report_.sum += ReadAs<int64_t>(event.payload().bytes);
      ++report_.count;
      const bool is_last = report_.count == input_.children;
      if (is_last || report_.count % input_.report_every == 0) {
        out.Send(out.parent(), {}, Binary(report_));
      }
      if (is_last) out.Done();
    }
  }

 private:
  SpawnSinkInput input_ = {};
  SpawnReport report_ = {};
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

// Ends with the sum that the sink reports.
class Spawner : public Process {
 public:
  static constexpr const char* kName = "bench.spawn";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<SpawnInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    if (sink_.empty()) {
      const SpawnSinkInput sink = {input_.children, input_.at_a_time / 4};
      sink_ = out.Spawn(SpawnSink::kName, {}, Binary(sink));
    }
    for (const Event event : events) {
      report_ = ReadAs<SpawnReport>(event.payload().bytes);
    }
    if (report_.count == input_.children) return out.Done(Binary(report_.sum));
    const int64_t end = std::min({input_.children, spawned_ + input_.each_step,
                                  report_.count + input_.at_a_time});
    for (; spawned_ < end; ++spawned_) {
      const Pid child = out.Spawn(SpawnChild::kName, {}, Binary(sink_));
      out.Send(child, {}, Binary(spawned_));
    }
    const bool may_go_on = spawned_ < input_.children &&
                           spawned_ < report_.count + input_.at_a_time;
    if (may_go_on) out.Continue();
  }

 private:
  SpawnInput input_ = {};
  Pid sink_;
  SpawnReport report_ = {};
  int64_t spawned_ = 0;
};

}  // namespace actord::bench
