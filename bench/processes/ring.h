// Rings of processes that pass numbers around, decremented at each hop, until
// they are 0.
#pragma once

#include <actord/plugin.h>

#include <cstdint>
#include <vector>

#include "bench/processes/wire.h"

namespace actord::bench {

// `rings` rings of `nodes` processes. One number makes `hops` hops in each
// ring. Held back: the root waits for a message before it sends the numbers.
struct RingInput {
  int64_t rings;
  int64_t nodes;
  int64_t hops;
  bool held_back;
};

// Input: the PID of its successor, or empty; the successor then comes with the
// topic "next". Reports to its parent when the number is 0.
class RingNode : public Process {
 public:
  static constexpr const char* kName = "bench.ring_node";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    if (!input.empty()) next_ = ReadAs<actord_pid>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "next") {
        next_ = ReadAs<actord_pid>(event.payload().bytes);
        continue;
      }
      const auto value = ReadAs<int64_t>(event.payload().bytes);
      if (value == 0) {
        out.Send(out.parent(), "done");
      } else {
        out.Send(next_, {}, Binary(value - 1));
      }
    }
  }

 private:
  Pid next_;
};

// Builds the rings, one in each step. Ends when all numbers have reached 0.
// Result: the count of those numbers. The nodes stay idle.
class RingRoot : public Process {
 public:
  static constexpr const char* kName = "bench.ring";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<RingInput>(input.bytes);
    wait_for_go_ = input_.held_back;
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "go") {
        wait_for_go_ = false;
      } else if (event.topic() == "done") {
        ++done_;
      }
    }
    if (built_ < input_.rings) return Build(out);
    if (!wait_for_go_ && !let_go_) LetGo(out);
    if (done_ == input_.rings) out.Done(Binary(done_));
  }

 private:
  void Build(StepOutput& out) {
    const Pid first = out.Spawn(RingNode::kName);
    Pid last = first;
    for (int64_t i = 1; i < input_.nodes; ++i) {
      last = out.Spawn(RingNode::kName, {}, Binary(last));
    }
    out.Send(first, "next", Binary(last));
    firsts_.push_back(first);
    ++built_;
    out.Continue();
  }

  void LetGo(StepOutput& out) {
    let_go_ = true;
    for (const Pid& first : firsts_) out.Send(first, {}, Binary(input_.hops));
  }

  RingInput input_ = {};
  bool wait_for_go_ = false;
  bool let_go_ = false;
  int64_t built_ = 0;
  int64_t done_ = 0;
  std::vector<Pid> firsts_;
};

}  // namespace actord::bench
