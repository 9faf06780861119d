// Processes of flat image types, which can be durable. Submitted without
// durability they are volatile, so a workload can compare the two.
#pragma once

#include <actord/plugin.h>

#include <cstdint>
#include <string>

#include "bench/processes/wire.h"

namespace actord::bench {

// Same as Drain: ends at the topic "end" with the count of the other messages,
// as text.
class DurableDrain : public Process {
 public:
  static constexpr const char* kName = "bench.durable_drain";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {
    int64_t count = 0;
  };
  State state;

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "end") {
        out.Done(Payload::Text(std::to_string(state.count)));
        return;
      }
      ++state.count;
    }
  }
};

// Ends in its first step.
class DurableOnce : public Process {
 public:
  static constexpr const char* kName = "bench.durable_once";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {
    int64_t nothing = 0;
  };
  State state;

  void Step(Events /*events*/, StepOutput& out) { out.Done(); }
};

// A link of a chain that is closed to a ring. The message "next" has the PID of
// the next link. A call makes a link the first one: it sends a message on, and
// answers the call when that message has come back.
class ChainLink : public Process {
 public:
  static constexpr const char* kName = "bench.chain_link";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kImage;
  static constexpr uint32_t kStateVersion = 1;
  struct State {
    Pid next;
    uint64_t call = 0;  // 0: not the first link
  };
  State state;

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.call() != 0) {
        state.call = event.call();
        out.Send(state.next, {});
      } else if (event.topic() == "next") {
        state.next = ReadAs<actord_pid>(event.payload().bytes);
      } else if (event.is_message() && state.call != 0) {
        out.Reply(state.call, {});
        state.call = 0;
      } else if (event.is_message()) {
        out.Send(state.next, {});
      }
    }
  }
};

}  // namespace actord::bench
