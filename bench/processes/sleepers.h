// Many processes that sleep at the same time.
#pragma once

#include <actord/commands.h>
#include <actord/plugin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/processes/latency.h"
#include "bench/processes/wire.h"

namespace actord::bench {

struct SleepersInput {
  int64_t count;
  int64_t shortest_ns;
  // Interval over which the ends of the sleeps are spread.
  int64_t spread_ns;
};

// Only every 16th sleep is measured, because reading the clock costs a tenth of
// a timer.
constexpr size_t kSleepersForEachNoted = 16;

// Histogram of how late the measured sleeps ended. A real process must not
// share data.
struct Lateness {
  static constexpr int64_t kBucketNs = 10'000;
  // The last bucket also counts all later ends.
  static constexpr size_t kBuckets = 10'000;
  std::array<std::atomic<uint32_t>, kBuckets> count{};

  void Add(int64_t late_ns) {
    const int64_t bucket = std::clamp<int64_t>(
        late_ns / kBucketNs, 0, static_cast<int64_t>(kBuckets) - 1);
    count[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  }
};
inline Lateness lateness;

// Message to a sleeper.
struct SleepersTask {
  int64_t ns;
  // 1: the sleeper records how late its sleep ended.
  int64_t noted;
};

// Sleeps when it receives a message.
class Sleeper : public Process {
 public:
  static constexpr const char* kName = "bench.sleeper";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_message()) {
        const auto task = ReadAs<SleepersTask>(event.payload().bytes);
        if (task.noted != 0) due_ns_ = SteadyNowNs() + task.ns;
        out.Yield(commands::Sleep(Duration(task.ns)));
      } else if (event.error()) {
        throw std::runtime_error("a sleep failed");
      } else if (due_ns_ != 0) {
        lateness.Add(SteadyNowNs() - due_ns_);
      }
    }
  }

 private:
  int64_t due_ns_ = 0;
};

// Spawns the sleepers. The topic "go" starts their sleeps. Ends at the topic
// "end". Result: the counts in `lateness`, as consecutive uint32_t.
class Sleepers : public Process {
 public:
  static constexpr const char* kName = "bench.sleepers";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& input) {
    input_ = ReadAs<SleepersInput>(input.bytes);
  }

  void Step(Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.topic() == "go") going_ = true;
      if (event.topic() == "end") return out.Done(Payload(Counts()));
    }
    const auto all = static_cast<size_t>(input_.count);
    if (sleepers_.size() < all) {
      const size_t end = std::min(all, sleepers_.size() + kAtOnce);
      while (sleepers_.size() < end) {
        sleepers_.push_back(out.Spawn(Sleeper::kName));
      }
      out.Continue();
    } else if (going_ && told_ < all) {
      const size_t end = std::min(all, told_ + kAtOnce);
      for (; told_ < end; ++told_) {
        out.Send(sleepers_[told_], {},
                 Binary(SleepersTask{SleepOf(told_),
                                     told_ % kSleepersForEachNoted == 0}));
      }
      out.Continue();
    }
  }

 private:
  static constexpr size_t kAtOnce = 256;

  // Spread evenly, in scrambled order.
  [[nodiscard]] int64_t SleepOf(size_t index) const {
    constexpr size_t kPrime = 7'919;
    const auto all = static_cast<size_t>(input_.count);
    const auto place = static_cast<int64_t>(index * kPrime % all);
    return input_.shortest_ns + place * input_.spread_ns / input_.count;
  }

  static std::string Counts() {
    std::string bytes;
    for (const auto& count : lateness.count) {
      const uint32_t value = count.load(std::memory_order_relaxed);
      bytes += BytesOf(value);
    }
    return bytes;
  }

  SleepersInput input_ = {};
  std::vector<Pid> sleepers_;
  bool going_ = false;
  size_t told_ = 0;
};

}  // namespace actord::bench
