#include "runtime/step/recorded_world.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/payload.h"
#include "runtime/process/priority.h"

namespace actord::runtime {

void RecordedWorld::Diverge(std::string how) {
  // Only the first difference is kept, because later differences follow from
  // it.
  if (divergence_.empty()) divergence_ = std::move(how);
}

template <typename Kind>
const Kind* RecordedWorld::Next(const char* question) {
  if (next_ == answers_.size()) {
    Diverge(absl::StrCat("it asks for ", question, ", and the record has only ",
                         answers_.size(), " answers"));
    return nullptr;
  }
  const auto* const answer = std::get_if<Kind>(&answers_[next_++]);
  if (answer == nullptr) {
    Diverge(absl::StrCat("it asks for ", question, ", and answer ", next_,
                         " of the record is to another question"));
  }
  return answer;
}

void RecordedWorld::Begin(std::span<const WorldAnswer> answers) {
  answers_ = answers;
  next_ = 0;
  divergence_.clear();
  // The payload limit is the first question of each call.
  const auto* const limit = Next<PayloadLimitAnswer>("the payload limit");
  recorded_max_payload_bytes_ = limit == nullptr ? 0 : limit->max_bytes;
}

std::string RecordedWorld::End() {
  if (next_ != answers_.size()) {
    Diverge(absl::StrCat("it asks ", next_, " questions, and the record has ",
                         answers_.size(), " answers"));
  }
  return divergence_;
}

uint64_t RecordedWorld::UnixNs() {
  const auto* const answer = Next<UnixTimeAnswer>("the time of day");
  return answer == nullptr ? 0 : answer->unix_ns;
}

uint64_t RecordedWorld::MonotonicNs() {
  const auto* const answer = Next<MonotonicTimeAnswer>("the monotonic time");
  return answer == nullptr ? 0 : answer->monotonic_ns;
}

uint64_t RecordedWorld::RandomSeed(const Pid& /*self*/, uint64_t /*step*/) {
  const auto* const answer = Next<RandomAnswer>("random bits");
  return answer == nullptr ? 0 : answer->seed;
}

World::ChildAnswer RecordedWorld::ReserveChild(const Pid& /*parent*/,
                                               uint64_t /*unix_ns*/,
                                               const actord_spawn& child) {
  const auto* const answer = Next<ReserveChildAnswer>("a child");
  if (answer == nullptr) return {};
  if (answer->process_type != View(child.process_type) ||
      answer->method != View(child.method) ||
      answer->priority != PriorityOf(child)) {
    Diverge("it asks for a child of another type, method or priority");
  }
  return {answer->pid, answer->refusal};
}

Pid RecordedWorld::HolderOf(const Pid& /*self*/, std::string_view name) {
  const auto* const answer = Next<HolderAnswer>("the holder of a name");
  if (answer == nullptr) return {};
  if (answer->name != name) Diverge("it asks for the holder of another name");
  return answer->holder;
}

bool RecordedWorld::HasRoomForTie(const Pid& /*self*/, uint64_t begun) {
  const auto* const answer = Next<RoomForTieAnswer>("room for a tie");
  if (answer == nullptr) return false;
  if (answer->begun != begun) Diverge("it has begun another number of ties");
  return answer->has_room;
}

}  // namespace actord::runtime
