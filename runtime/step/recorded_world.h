// The World of a call that is replayed: answers from the call's record, and
// touches nothing.
//
// Thread-safety: belongs to one thread. Ownership: borrows the answers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "runtime/step/world.h"

namespace actord::runtime {

class RecordedWorld final : public World {
 public:
  RecordedWorld() : World(recorded_max_payload_bytes_) {}
  RecordedWorld(const RecordedWorld&) = delete;
  RecordedWorld& operator=(const RecordedWorld&) = delete;

  // Begins a call that gets these answers.
  void Begin(std::span<const WorldAnswer> answers);
  // Ends the call. Returns how its questions differ from the questions of the
  // record; empty: they are the same.
  std::string End();

  uint64_t UnixNs() override;
  uint64_t MonotonicNs() override;
  uint64_t RandomSeed(const Pid& self, uint64_t step) override;
  ChildAnswer ReserveChild(const Pid& parent, uint64_t unix_ns,
                           const actord_spawn& child) override;
  Pid HolderOf(const Pid& self, std::string_view name) override;
  bool HasRoomForTie(const Pid& self, uint64_t begun) override;

 private:
  // Returns the next answer. Null: the next answer is to another question.
  template <typename Kind>
  const Kind* Next(const char* question);
  void Diverge(std::string how);

  std::atomic<size_t> recorded_max_payload_bytes_{0};
  std::span<const WorldAnswer> answers_;
  size_t next_ = 0;
  std::string divergence_;
};

}  // namespace actord::runtime
