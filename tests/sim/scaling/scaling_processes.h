// The processes of the loads in scaling.h.
//
// Thread-safety: as for every process; all run on one thread. Ownership: borrow
// their Load, whose address is in their input.
#pragma once

#include <actord/plugin.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/sim/scaling/machine.h"

namespace actord::sim {

// State that all processes and clients of a run share. Access is free of cost.
struct Load {
  Machine& machine;
  const uint64_t step_ns;
  uint64_t operations = 0;
  // The clients end.
  bool stopping = false;
  // The tree is complete.
  bool done = false;
};

struct LoadInput {
  Load* load;
  // Its meaning depends on the process type.
  uint64_t number;
  actord::Pid peer;
};

inline std::string BytesOf(const LoadInput& input) {
  return {reinterpret_cast<const char*>(&input), sizeof(input)};
}

template <typename T>
class LoadProcess : public actord::Process {
 public:
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const actord::Payload& input) {
    std::memcpy(&input_, input.bytes.data(), sizeof(input_));
  }

  void Step(actord::Events events, actord::StepOutput& out) {
    input_.load->machine.Work(input_.load->step_ns);
    static_cast<T*>(this)->Act(events, out);
  }

 protected:
  [[nodiscard]] Load& load() const { return *input_.load; }
  [[nodiscard]] const LoadInput& input() const { return input_; }
  // A null peer means none.
  [[nodiscard]] actord::Pid SpawnPeer(actord::StepOutput& out, uint64_t number,
                                      const char* type = T::kName) const {
    return out.Spawn(type, {}, BytesOf(LoadInput{&load(), number, out.self()}));
  }

 private:
  LoadInput input_{};
};

// Number 0 spawns its partner and begins.
class LoadPlayer : public LoadProcess<LoadPlayer> {
 public:
  static constexpr const char* kName = "load.player";
  void Act(actord::Events events, actord::StepOutput& out) {
    if (events.empty() && input().number == 0) out.Send(SpawnPeer(out, 1), {});
    for (const actord::Event event : events) {
      ++load().operations;
      out.Send(event.from(), {});
    }
  }
};

// A subtree with as many leaves as its number. Reports to its parent when all
// have ended.
class LoadNode : public LoadProcess<LoadNode> {
 public:
  static constexpr const char* kName = "load.node";
  void Act(actord::Events events, actord::StepOutput& out) {
    if (input().number > 1 && left_ == 0) {
      left_ = kChildren;
      for (uint64_t i = 0; i < kChildren; ++i) {
        static_cast<void>(SpawnPeer(out, input().number / kChildren));
      }
    }
    left_ -= events.size();
    if (left_ != 0) return;
    ++load().operations;
    if (out.parent().empty()) {
      load().done = true;
    } else {
      out.Send(out.parent(), {});
    }
    out.Done();
  }

 private:
  static constexpr uint64_t kChildren = 10;
  uint64_t left_ = 0;
};

// Has at most two batches in flight to its peer, the sink.
class LoadProducer : public LoadProcess<LoadProducer> {
 public:
  static constexpr const char* kName = "load.producer";
  static constexpr int kBatch = 8;
  void Act(actord::Events events, actord::StepOutput& out) {
    if (events.empty()) SendBatch(out);
    SendBatch(out);
  }

 private:
  void SendBatch(actord::StepOutput& out) {
    for (int i = 1; i < kBatch; ++i) out.Send(input().peer, {});
    out.Send(input().peer, "last");
  }
};

// Spawns as many producers as its number, and answers the end of each batch.
class LoadSink : public LoadProcess<LoadSink> {
 public:
  static constexpr const char* kName = "load.sink";
  void Act(actord::Events events, actord::StepOutput& out) {
    for (uint64_t i = 0; events.empty() && i < input().number; ++i) {
      static_cast<void>(SpawnPeer(out, 0, LoadProducer::kName));
    }
    load().operations += events.size();
    for (const actord::Event event : events) {
      if (event.topic() == "last") out.Send(event.from(), {});
    }
  }
};

// Increments the counter whose address is its number when it ends.
class LoadOnce : public LoadProcess<LoadOnce> {
 public:
  static constexpr const char* kName = "load.once";
  void Act(actord::Events /*events*/, actord::StepOutput& out) {
    ++load().operations;
    ++*reinterpret_cast<uint64_t*>(input().number);
    out.Done();
  }
};

class LoadSpinner : public LoadProcess<LoadSpinner> {
 public:
  static constexpr const char* kName = "load.spinner";
  void Act(actord::Events /*events*/, actord::StepOutput& out) {
    ++load().operations;
    out.Continue();
  }
};

// Number 0 spawns the next member, which spawns the next, and so on. The member
// with number kMembers - 1 sends to the first one, whose PID is passed along.
class LoadMember : public LoadProcess<LoadMember> {
 public:
  static constexpr const char* kName = "load.member";
  static constexpr uint64_t kMembers = 64;
  void Act(actord::Events events, actord::StepOutput& out) {
    if (events.empty()) {
      const actord::Pid first = input().number == 0 ? out.self() : input().peer;
      next_ = input().number + 1 == kMembers
                  ? first
                  : out.Spawn(
                        kName, {},
                        BytesOf(LoadInput{&load(), input().number + 1, first}));
      if (input().number + 1 == kMembers) out.Send(next_, {});
    }
    for (size_t i = 0; i < events.size(); ++i) {
      ++load().operations;
      out.Send(next_, {});
    }
  }

 private:
  actord::Pid next_{};
};

}  // namespace actord::sim
