// A process that ends in its first step.
#pragma once

#include <actord/plugin.h>

namespace actord::bench {

class Once : public Process {
 public:
  static constexpr const char* kName = "bench.once";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events /*events*/, StepOutput& out) { out.Done(); }
};

}  // namespace actord::bench
