// performance-notes: Marks not measured alone.
#include "runtime/turn/beginning.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

std::optional<EndCause> Beginning::Begin(Process& process, const Turn& turn) {
  ACTORD_ASSERT_HOT(process.init_due, "beginning.h: Init is due");
  process.init_due = false;
  if (process.refusal != nullptr) {
    return EndCause{EndKind::kInitRefused, absl::StatusCode::kNotFound,
                    std::exchange(process.refusal, nullptr)};
  }
  if (process.admitted == nullptr) return CallInit(process, turn, nullptr);
  // Taken out first: the memory of the callback may become the state.
  Admitted admitted = process.TakeAdmitted();
  return CallInit(process, turn, &admitted);
}

std::optional<EndCause> Beginning::BeginAgain(Process& process,
                                              const Turn& turn) {
  caller_.InitAgain(process, turn);
  const StepRecord& record = caller_.record();
  if (rules::PluginCallEndOf(!record.thrown.empty(), !record.misuse.ok(),
                             record.verdict) == rules::PluginCallEnd::kOk) {
    process.step_due = true;
    return std::nullopt;
  }
  FreeFailedState(process);
  return WhyInitFailed();
}

void Beginning::FreeFailedState(Process& process) {
  // The state is freed without Close, because Init has failed.
  process.FreeState(
      lane_.buffers(), std::exchange(process.state, nullptr),
      process.type.load(std::memory_order_relaxed)->descriptor->state_size);
}

std::optional<EndCause> Beginning::CallInit(Process& process, const Turn& turn,
                                            Admitted* admitted) {
  caller_.Init(process, turn);
  const StepRecord& record = caller_.record();
  if (rules::PluginCallEndOf(!record.thrown.empty(), !record.misuse.ok(),
                             record.verdict) == rules::PluginCallEnd::kOk) {
    process.step_due = true;
    const uint64_t lifetime_ns = limits_.max_lifetime_ns();
    if (lifetime_ns != LiveLimits::kForeverNs) [[unlikely]] {
      lifetimes_.Begin(process, turn.generation, lifetime_ns, lane_);
    }
    const Pid& pid = caller_.input().self;
    if (lifecycle_log_.IsRecording()) [[unlikely]] {
      lifecycle_log_.Started(process, pid);
    }
    if (admitted != nullptr) std::move (*admitted)(pid);
    if (orders_.cancel.load(std::memory_order_relaxed)) {
      Envelope* cancel = lane_.NewEnvelope(
          ACTORD_EVENT_CANCEL, {},
          {ToAbi(std::string_view("the daemon is shutting down")),
           ToAbi(std::string_view("text/plain"))});
      cancel->generation = turn.generation;
      process.urgent_taken.PushBack(cancel);
    }
    return std::nullopt;
  }
  FreeFailedState(process);
  if (admitted != nullptr) process.KeepAdmitted(std::move(*admitted));
  return WhyInitFailed();
}

EndCause Beginning::WhyInitFailed() {
  StepRecord& record = caller_.record();
  const rules::PluginCallEnd end = rules::PluginCallEndOf(
      !record.thrown.empty(), !record.misuse.ok(), record.verdict);
  std::string why = record.TakeFailure();
  if (end == rules::PluginCallEnd::kThrew) {
    why = absl::StrCat("Init ", record.thrown);
  } else if (end == rules::PluginCallEnd::kBrokeRule) {
    why = std::string(record.misuse.message());
  }
  return {EndKind::kInitRefused,
          static_cast<absl::StatusCode>(
              rules::CodeOfFailedInit(end, record.verdict)),
          std::move(why)};
}

}  // namespace actord::runtime
