// A tree of processes. Each leaf has a number. Each inner process sends the sum
// of its ten children to its parent.
#pragma once

#include <actord/plugin.h>

#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

// A subtree with the leaves `first` to `first + leaves - 1`. `leaves` is a
// power of `children`.
struct SkynetInput {
  int64_t first;
  int64_t leaves;
  int64_t children;
};

class Skynet : public Process {
 public:
  static constexpr const char* kName = "bench.skynet";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<SkynetInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    if (input_.leaves == 1) return End(input_.first, out);
    if (!started_) Start(out);
    for (const Event event : events) {
      sum_ += ReadAs<int64_t>(event.payload().bytes);
      if (--sums_left_ == 0) End(sum_, out);
    }
  }

 private:
  void Start(StepOutput& out) {
    started_ = true;
    sums_left_ = input_.children;
    const int64_t leaves = input_.leaves / input_.children;
    for (int64_t i = 0; i < input_.children; ++i) {
      const SkynetInput child = {input_.first + i * leaves, leaves,
                                 input_.children};
      // If a spawn fails, the sum shows it.
      static_cast<void>(out.Spawn(kName, {}, Binary(child)));
    }
  }

  static void End(int64_t sum, StepOutput& out) {
    const Pid parent = out.parent();
    if (parent.empty()) {
      out.Done(Binary(sum));
    } else {
      out.Send(parent, {}, Binary(sum));
      out.Done();
    }
  }

  SkynetInput input_ = {};
  bool started_ = false;
  int64_t sums_left_ = 0;
  int64_t sum_ = 0;
};

}  // namespace actord::bench
