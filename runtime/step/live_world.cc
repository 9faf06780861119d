// performance-notes: Rare code moved out.
#include "runtime/step/live_world.h"

#include <algorithm>
#include <optional>

#include "runtime/process/priority.h"
#include "runtime/system/assert.h"
#include "runtime/table/no_room.h"
#include "runtime/table/owner_in_turn.h"

namespace actord::runtime {

uint64_t LiveWorld::RandomSeed(const Pid& self, uint64_t step) {
  const uint64_t words[] = {
      (uint64_t{self.node} << 32) | self.incarnation,
      (uint64_t{self.slot} << 32) | self.generation,
      step,
  };
  return SipHash(secret_, words);
}

const ProcessType* LiveWorld::FindProcessType(std::string_view name) {
  // Relaxed: a thread that was told of a newer version runs after the store.
  if (last_type_ == nullptr ||
      !last_type_->in_force.load(std::memory_order_relaxed) ||
      !IsSameName(last_type_->name, name)) {
    last_type_ = catalog_.FindProcessType(name);
  }
  return last_type_;
}

World::ChildAnswer LiveWorld::ReserveChild(const Pid& parent, uint64_t unix_ns,
                                           const actord_spawn& child) {
  ACTORD_ASSERT_HOT(IsPriority(PriorityOf(child)),
                    "world.h: the priority is valid");
  // All returns have the same answer object, so that the compiler makes it in
  // the caller's memory: a copy right after the writes of its parts would
  // stall.
  ChildAnswer answer;
  const ProcessType* const type = FindProcessType(View(child.process_type));
  uint32_t method = 0;
  if (type == nullptr) {
    answer.refusal = SpawnRefusal::kUnknownType;
  } else {
    method = type->FindMethod(View(child.method));
    if (method == ProcessType::kNoSuchMethod) {
      method = 0;
      answer.refusal = SpawnRefusal::kUnknownMethod;
    }
  }
  auto no_room = ProcessTable::NoRoom::kInTable;
  Process* const process = processes_.Reserve(
      lane_.processes(), type, static_cast<uint16_t>(method),
      static_cast<uint8_t>(PriorityOf(child)), OwnerInTurn(processes_, parent),
      parent, unix_ns, no_room);
  if (process == nullptr) {
    lane_.Count(RefusalCounter(no_room));
    return answer;
  }
  // (If the parent is durable, there are homes.)
  if (IsHomePid(parent) && answer.refusal == SpawnRefusal::kNone &&
      type->can_be_durable() && (child.flags & ACTORD_SPAWN_VOLATILE) == 0)
      [[unlikely]] {
    answer.pid = DrawDurable(parent, *process);
    return answer;
  }
  processes_.WritePidOf(*process,
                        process->generation.load(std::memory_order_relaxed),
                        answer.pid);
  return answer;
}

Pid LiveWorld::DrawDurable(const Pid& parent, Process& process) {
  const std::optional<Pid> pid = homes_->Draw(HomeOf(parent));
  if (!pid) {
    processes_.Unreserve(lane_.processes(), process);
    return {};
  }
  reserved_.push_back({*pid, &process});
  return *pid;
}

Process& LiveWorld::TakeReserved(const Pid& child) {
  const auto found =
      std::find_if(reserved_.begin(), reserved_.end(),
                   [&](const Reserved& one) { return one.pid == child; });
  ACTORD_ASSERT(found != reserved_.end(),
                "live_world.h: the step has reserved the child");
  Process& process = *found->process;
  reserved_.erase(found);
  return process;
}

void LiveWorld::GiveBackReserved() {
  for (const Reserved& one : reserved_) {
    homes_->Leave(one.pid);
    processes_.Unreserve(lane_.processes(), *one.process);
  }
  reserved_.clear();
}

Pid LiveWorld::HolderOf(const Pid& self, std::string_view name) {
  return names_.Find(OwnerInTurn(processes_, self), name).value_or(Pid{});
}

bool LiveWorld::HasRoomForTie(const Pid& self, uint64_t begun) {
  return ties_.CountOf(self) + begun < Ties::kMaxOfProcess;
}

}  // namespace actord::runtime
