// All that a step may ask of the runtime, and nothing else: six questions.
//
// The live World (live_world.h) asks the lane and the tables. The recorded one
// (recorded_world.h) answers from a record and touches nothing. StepContext
// asks each question when the step first needs the answer, so that a step that
// needs nothing asks nothing; and it writes question and answer into the
// record, if the record is kept.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <actord/abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/process/pid.h"
#include "runtime/step/spawn_effect.h"

namespace actord::runtime {

class World {
 public:
  struct ChildAnswer {
    Pid pid;  // empty: there is no room
    // Of a PID: why the child will end at once.
    SpawnRefusal refusal = SpawnRefusal::kNone;
  };

  // 1. Time, by two clocks.
  virtual uint64_t UnixNs() = 0;
  virtual uint64_t MonotonicNs() = 0;
  // 2. Random bits: the seed of all that step number `step` of `self` draws.
  virtual uint64_t RandomSeed(const Pid& self, uint64_t step) = 0;
  // 3. A place for a child of `parent`, which begins at `unix_ns`; of `child`
  // its type, method and priority, which is one.
  virtual ChildAnswer ReserveChild(const Pid& parent, uint64_t unix_ns,
                                   const actord_spawn& child) = 0;
  // 4. Who holds the name; empty: nobody.
  virtual Pid HolderOf(std::string_view name) = 0;
  // 5. Whether `self` may begin one more monitor or link beside `begun`, which
  // this step has begun.
  virtual bool HasRoomForTie(const Pid& self, uint64_t begun) = 0;
  // 6. How many bytes a payload may have. (Asked at the begin of each call, so
  // that it costs no call itself.)
  [[nodiscard]] size_t MaxPayloadBytes() const {
    return max_payload_bytes_.load(std::memory_order_relaxed);
  }

 protected:
  // Where the limit stands; borrowed.
  explicit World(const std::atomic<size_t>& max_payload_bytes)
      : max_payload_bytes_(max_payload_bytes) {}
  ~World() = default;

 private:
  const std::atomic<size_t>& max_payload_bytes_;
};

// A question with its answer, one type for each.
struct UnixTimeAnswer {
  uint64_t unix_ns = 0;
};
struct MonotonicTimeAnswer {
  uint64_t monotonic_ns = 0;
};
struct RandomAnswer {
  uint64_t seed = 0;
};
struct ReserveChildAnswer {
  std::string process_type;
  std::string method;
  uint8_t priority = 0;
  Pid pid;
  SpawnRefusal refusal = SpawnRefusal::kNone;
};
struct HolderAnswer {
  std::string name;
  Pid holder;
};
struct RoomForTieAnswer {
  uint64_t begun = 0;
  bool has_room = false;
};
struct PayloadLimitAnswer {
  uint64_t max_bytes = 0;
};
using Answer = std::variant<UnixTimeAnswer, MonotonicTimeAnswer, RandomAnswer,
                            ReserveChildAnswer, HolderAnswer, RoomForTieAnswer,
                            PayloadLimitAnswer>;

}  // namespace actord::runtime
