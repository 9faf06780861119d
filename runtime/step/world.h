// The six questions that a step may ask the runtime. A step sees nothing else
// of the runtime.
//
// LiveWorld (live_world.h) reads the lane and the tables. RecordedWorld
// (recorded_world.h) answers from a record and touches nothing else.
// StepContext asks a question when the step first needs the answer, so that a
// step that needs no answer asks no question. If the record is kept,
// StepContext writes the question and the answer into it.
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
    // With a PID: why the child will end at once.
    SpawnRefusal refusal = SpawnRefusal::kNone;
  };

  // 1. The time of two clocks.
  virtual uint64_t UnixNs() = 0;
  virtual uint64_t MonotonicNs() = 0;
  // 2. Random bits: the seed of all random bits of step number `step` of
  // `self`.
  virtual uint64_t RandomSeed(const Pid& self, uint64_t step) = 0;
  // 3. A slot for a child of `parent`, which begins at `unix_ns`. Of `child`
  // only the type, the method and the priority count. Precondition: the
  // priority is valid.
  virtual ChildAnswer ReserveChild(const Pid& parent, uint64_t unix_ns,
                                   const actord_spawn& child) = 0;
  // 4. The holder of the name among the processes of the owner of `self`;
  // empty: there is none.
  virtual Pid HolderOf(const Pid& self, std::string_view name) = 0;
  // 5. Whether `self` may begin one more monitor or link, beside the `begun`
  // monitors and links that this step has begun.
  virtual bool HasRoomForTie(const Pid& self, uint64_t begun) = 0;
  // 6. The maximum size of a payload in bytes. (Not virtual, because every call
  // asks this question.)
  [[nodiscard]] size_t MaxPayloadBytes() const {
    return max_payload_bytes_.load(std::memory_order_relaxed);
  }

 protected:
  // `max_payload_bytes`: the place of the limit; borrowed.
  explicit World(const std::atomic<size_t>& max_payload_bytes)
      : max_payload_bytes_(max_payload_bytes) {}
  ~World() = default;

 private:
  const std::atomic<size_t>& max_payload_bytes_;
};

// The questions with their answers: one type for each question.
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
using WorldAnswer = std::variant<UnixTimeAnswer, MonotonicTimeAnswer,
                                 RandomAnswer, ReserveChildAnswer, HolderAnswer,
                                 RoomForTieAnswer, PayloadLimitAnswer>;

}  // namespace actord::runtime
