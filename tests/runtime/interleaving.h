// Moments between two writes of another thread, brought about by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {

class Interleaving : public ::testing::Test {
 protected:
  void Start(RuntimeOptions options = {}) {
    options.external_commands = {"ext"};
    core_ = std::make_unique<SteppedCore>(1, options);
  }
  // A process that writes down what it sees, and may block on a yield.
  Pid Recorder(bool blocks = false) {
    return core_->Submit([this, blocks](Events events, StepOutput& out) {
      for (const Event event : events) {
        seen_.emplace_back(event.is_completion() ? "c" : event.topic());
      }
      if (blocks && events.empty()) {
        out.Yield("ext");
        out.Block();
      }
    });
  }
  Envelope* NewMessage(const Pid& to, std::string_view topic) {
    Envelope* envelope =
        core_->core->lane.NewEnvelope(ACTORD_EVENT_MESSAGE, topic, {});
    envelope->generation = to.generation;
    return envelope;
  }
  // The first thing that a producer does, and wakes then.
  void CountAndWake(Process& process, const Envelope& envelope) {
    if (Activity::Add(process.activity,
                      Activity::ForMessages(1, envelope.units()))) {
      core_->core->scheduler.Enqueue(&process, nullptr);
    }
  }
  std::vector<std::string> seen_;
  std::unique_ptr<SteppedCore> core_;
};

}  // namespace actord::runtime
