// A process that counts its messages.
#pragma once

#include <actord/plugin.h>

#include <cstdint>
#include <string>

namespace actord::bench {

// Ends at the topic "end". Result: the count of the other messages, as text.
class Drain : public Process {
 public:
  static constexpr const char* kName = "bench.drain";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "end") {
        out.Done(Payload::Text(std::to_string(count_)));
        return;
      }
      ++count_;
    }
  }

 private:
  int64_t count_ = 0;
};

}  // namespace actord::bench
