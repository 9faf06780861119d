// A process that yields an inline command repeatedly, and the command's
// handler.
#pragma once

#include <actord/plugin.h>

#include <cstdint>
#include <stdexcept>

#include "bench/processes/wire.h"

namespace actord::bench {

class Nothing : public Handler {
 public:
  static constexpr const char* kCommand = "bench.nothing";

  Reply Handle(const Command& /*command*/) { return {}; }
};

// Input: the number of yields. Result: the number of completions.
class Yielder : public Process {
 public:
  static constexpr const char* kName = "bench.yielder";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    yields_left_ = ReadAs<int64_t>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.tag() != tag_ || event.error()) {
        throw std::runtime_error("an unexpected event");
      }
      ++completions_;
    }
    if (yields_left_ == 0) return out.Done(Binary(completions_));
    --yields_left_;
    tag_ = out.Yield(Nothing::kCommand);
    out.Block();
  }

 private:
  int64_t yields_left_ = 0;
  int64_t completions_ = 0;
  Tag tag_ = 0;
};

}  // namespace actord::bench
