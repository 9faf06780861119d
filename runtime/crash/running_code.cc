#include "runtime/crash/running_code.h"

#include <atomic>

#include "runtime/process/process.h"
#include "runtime/scheduler/hold.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

// Written by the thread itself, and read by the thread itself or by a signal
// handler on it. A signal may come between any two instructions, so each
// pointer is set after the object is complete, and reset before the object
// goes.
constinit thread_local const PluginScope* innermost = nullptr;
constinit thread_local const LaneScope* lane_here = nullptr;
constinit thread_local const ProcessType* version_here = nullptr;

template <typename T>
void Set(const T*& place, const T* value) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  place = value;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Simulated threads share one thread of the system, so scopes of theirs would
// not end in the reverse order of their beginning.
bool IsSimulated() {
#ifdef ACTORD_FAIL_POINTS
  return interleaver != nullptr;
#else
  return false;
#endif
}

}  // namespace

PluginScope::PluginScope(const RunningCode& code) : code_(code) {
  if (IsSimulated()) return;
  outer_ = innermost;
  Set(innermost, this);
}

PluginScope::~PluginScope() {
  if (!IsSimulated()) Set(innermost, outer_);
}

LaneScope::LaneScope(Lane& lane, const ProcessTable& processes)
    : lane_(lane), processes_(processes) {
  if (!IsSimulated()) Set(lane_here, this);
}

LaneScope::~LaneScope() {
  if (!IsSimulated()) Set<LaneScope>(lane_here, nullptr);
}

Pid LaneScope::PidOf(const Process& process) const {
  const uint32_t generation =
      process.generation.load(std::memory_order_acquire);
  // An even generation belongs to no process: the process is ending.
  const uint32_t last = (generation & 1) != 0 ? generation : generation - 1;
  return processes_.PidOf(process, last);
}

std::optional<RunningCode> LaneScope::Code(const ProcessType* version) const {
  const std::optional<Hold::PluginCall> call = lane_.hold().CallUnderWay();
  if (!call) return std::nullopt;
  RunningCode code{.function = call->name, .pid = PidOf(*call->process)};
  const ProcessType* const type =
      version != nullptr ? version
                         : call->process->type.load(std::memory_order_acquire);
  if (type != nullptr) code.process_type = type->name;
  if (code.function == Hold::kInlineHandler) {
    // The dispatcher looks the handler up before it calls the handler.
    if (const CommandHandler* const handler = lane_.last_command) {
      code.plugin = handler->plugin;
      code.version = handler->version;
      code.command = handler->name;
    }
  } else if (type != nullptr) {
    code.plugin = type->plugin;
    code.version = type->version;
  }
  return code;
}

VersionScope::VersionScope(const ProcessType& type) {
  if (!IsSimulated()) Set(version_here, &type);
}

VersionScope::~VersionScope() {
  if (!IsSimulated()) Set<ProcessType>(version_here, nullptr);
}

std::optional<RunningCode> RunningCodeHere() {
  if (innermost != nullptr) return innermost->code();
  if (lane_here != nullptr) return lane_here->Code(version_here);
  return std::nullopt;
}

}  // namespace actord::runtime
