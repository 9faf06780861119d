// Pairs of processes that pass a number back and forth, decremented each time,
// until it is 0.
#pragma once

#include <actord/coroutine.h>

#include <cstdint>

#include "bench/processes/wire.h"

namespace actord::bench {

struct PairsInput {
  int64_t pairs;
  int64_t hops;
  bool coroutines = false;
};

// One half of a pair. Input: empty, or the PID of the other half. Ends when it
// receives 0 (and then stops the other half) or the topic "stop". Reports to
// its parent how many numbers it received.
class Bouncer : public Process {
 public:
  static constexpr const char* kName = "bench.bouncer";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    if (!input.empty()) peer_ = ReadAs<actord_pid>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "stop") return End(out);
      const auto value = ReadAs<int64_t>(event.payload().bytes);
      ++received_;
      if (peer_.empty()) peer_ = event.from();
      if (value == 0) {
        out.Send(peer_, "stop");
        return End(out);
      }
      out.Send(peer_, {}, Binary(value - 1));
    }
  }

 private:
  void End(StepOutput& out) {
    out.Send(out.parent(), {}, Binary(received_));
    out.Done();
  }

  Pid peer_;
  int64_t received_ = 0;
};

// The same process as a coroutine.
class CoroutineBouncer : public CoroutineProcess {
 public:
  static constexpr const char* kName = "bench.coroutine_bouncer";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Task<> Main(Context& ctx, OwnedPayload input) {
    Pid peer = input.empty() ? Pid() : ReadAs<actord_pid>(input.bytes);
    int64_t received = 0;
    while (true) {
      const Message message = co_await ctx.Receive();
      if (message.topic() == "stop") break;
      const auto value = ReadAs<int64_t>(message.payload().bytes);
      ++received;
      if (peer.empty()) peer = message.from();
      if (value == 0) {
        ctx.Send(peer, "stop");
        break;
      }
      ctx.Send(peer, {}, Binary(value - 1));
    }
    ctx.Send(ctx.parent(), {}, Binary(received));
  }
};

// Starts the pairs. Ends when both halves of all pairs have ended. Result: the
// sum of their reports.
class PairsRoot : public Process {
 public:
  static constexpr const char* kName = "bench.pairs";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<PairsInput>(input.bytes);
    reports_left_ = 2 * input_.pairs;
  }

  void Step(Events events, StepOutput& out) {
    if (!started_) Start(out);
    for (const Event event : events) {
      sum_ += ReadAs<int64_t>(event.payload().bytes);
      if (--reports_left_ == 0) out.Done(Binary(sum_));
    }
  }

 private:
  void Start(StepOutput& out) {
    started_ = true;
    const char* const bouncer =
        input_.coroutines ? CoroutineBouncer::kName : Bouncer::kName;
    for (int64_t i = 0; i < input_.pairs; ++i) {
      const Pid first = out.Spawn(bouncer);
      const Pid second = out.Spawn(bouncer, {}, Binary(first));
      out.Send(second, {}, Binary(input_.hops));
    }
  }

  PairsInput input_ = {};
  bool started_ = false;
  int64_t reports_left_ = 0;
  int64_t sum_ = 0;
};

}  // namespace actord::bench
