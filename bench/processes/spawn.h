// A process that spawns children and sends one message to each; the child tells
// a sink and ends.
//
// The sink's mailbox is bounded, so the spawner does not run ahead of it by
// more than `at_a_time` children; the sink says now and then how far it is.
#pragma once

#include <actord/plugin.h>

#include <algorithm>
#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

struct SpawnInput {
  int64_t children;
  int64_t each_step;  // so many are spawned before others get their turn
  int64_t at_a_time;  // so many have not been counted yet, at most
};

struct SpawnSinkInput {
  int64_t children;
  int64_t report_every;
};

// What the sink tells its parent: after every `report_every` children, and
// after the last.
struct SpawnReport {
  int64_t count;
  int64_t sum;  // of the children's numbers
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
