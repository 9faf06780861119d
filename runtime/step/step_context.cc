// The queries, the results and the misuses of a call. The requests for effects
// are in effect_requests.cc.
// performance-notes: Rare code moved out.
#include "runtime/step/step_context.h"

#include <actord/text.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/errors.h"
#include "runtime/process/priority.h"
#include "runtime/process/upgrading.h"

namespace actord::runtime {
const actord_step_api StepContext::kApi = {
    .struct_size = sizeof(actord_step_api),
    .reserved = 0,
    .self = Self,
    .parent = Parent,
    .unix_time_ns = UnixTimeNs,
    .random = RandomBits,
    .yield = Yield,
    .send = Send,
    .spawn = Spawn,
    .set_result = SetResult,
    .set_failure = SetFailure,
    .format_pid = [](const actord_step*, const actord_pid* pid,
                     char* text) { return CopyPidText(*pid, text); },
    .parse_pid = [](const actord_step*, actord_bytes text, actord_pid* pid)
        -> int32_t { return ReadPidText(text, pid); },
    .call = CallProcess,
    .reply = Reply,
    .monitor = Monitor,
    .demonitor = Demonitor,
    .link = Link,
    .unlink = Unlink,
    .cancel_yield = CancelYield,
    .monotonic_ns = MonotonicNs,
    .max_payload_bytes = [](const actord_step* step) -> size_t {
      return Of(step).max_payload_bytes_;
    },
    .adopt_yield = AdoptYield,
    .continue_as = ContinueAs,
    .trace_parent = TraceParent,
    .find_name = FindName,
    .publish = Publish,
    .log = Log,
};

StepContext::StepContext(World& world, BufferCache& buffers,
                         const TurnInput& input)
    : actord_step{&kApi}, world_(world), buffers_(buffers), input_(input) {}

void StepContext::BeginRecord() {
  if (record_.effects.capacity() > kMaxEffects) [[unlikely]] {
    // ContinueAs adds answers to a record without a limit.
    record_.effects = std::vector<Effect>();
  }
  record_.has_said = record_.keeps_answers;
  record_.answers.clear();
  if (record_.keeps_answers) {
    record_.answers.emplace_back(PayloadLimitAnswer{max_payload_bytes_});
  }
  record_.refused_payloads = 0;
  if (!record_.misuse.ok()) record_.misuse = absl::OkStatus();
  record_.DropResult();
  record_.failure_code = absl::StatusCode::kUnknown;
  record_.failure.clear();
  record_.thrown.clear();
  record_.continuation.reset();
  if (traces_ != nullptr && BeginTrace()) record_.has_said = true;
  if (std::exchange(shows_next_, false)) record_.has_said = true;
}

bool StepContext::BeginTrace() {
  if (call_ == Call::kSnapshot || call_ == Call::kRestore) {
    // The flag stays for the next step, and the trace for its effects.
    return traces_->HasAny();
  }
  std::vector<uint64_t> completions;
  const bool has_events = call_ == Call::kStep && !input_.events.empty();
  if (has_events) {
    for (const actord_event* const event : input_.events) {
      if (event->type == ACTORD_EVENT_COMPLETION) {
        completions.push_back(event->tag);
      }
    }
  }
  return traces_->Begin(TracedProcessOf(input_.self), has_events, completions);
}

void StepContext::Misuse(absl::Status status) {
  record_.has_said = true;
  if (record_.misuse.ok()) record_.misuse = std::move(status);
}

bool StepContext::GrowOrRefuse() {
  std::vector<Effect>& effects = record_.effects;
  if (call_ == Call::kStep && effects.size() < kMaxEffects) {
    effects.reserve(
        std::min(kMaxEffects, std::max<size_t>(2 * effects.size(), 8)));
    ACTORD_ASSERT(effects.capacity() <= kMaxEffects,
                  "step_context.h: there is no room for more than kMaxEffects");
    return true;
  }
  if (call_ != Call::kStep) {
    const char* const name = call_ == Call::kInit       ? "init"
                             : call_ == Call::kNone     ? "a call that was over"
                             : call_ == Call::kSnapshot ? "snapshot"
                                                        : "restore";
    Misuse(absl::FailedPreconditionError(
        absl::StrCat(name, " yielded, sent or spawned; only step may")));
  } else {
    Misuse(absl::ResourceExhaustedError(
        absl::StrCat("a step asked for more than ", kMaxEffects,
                     " sends, spawns and yields; continue in pieces")));
  }
  return false;
}

bool StepContext::RefuseToYield() {
  Misuse(absl::ResourceExhaustedError(absl::StrCat(
      "the process yields faster than its steps take what was answered at "
      "once: ",
      input_.replies, " completions wait")));
  return false;
}

bool StepContext::RefuseContent(const actord_payload& payload,
                                const char* what) {
  if (payload.bytes.size > max_payload_bytes_) ++record_.refused_payloads;
  Misuse(absl::InvalidArgumentError(absl::StrCat(
      "the payload of a ", what, " has ", payload.bytes.size,
      " bytes; the limit is ", max_payload_bytes_, ", and ", kMaxLabelBytes,
      " for a topic, a command or a content type")));
  return false;
}

actord_pid StepContext::Self(const actord_step* step) {
  return ToAbi(Of(step).input_.self);
}

actord_pid StepContext::Parent(const actord_step* step) {
  return ToAbi(Of(step).input_.Parent());
}

void StepContext::AskUnixTime() {
  is_used_ = true;
  unix_time_ns_ = world_.UnixNs();
  if (record_.keeps_answers) {
    record_.answers.emplace_back(UnixTimeAnswer{unix_time_ns_});
  }
}

uint64_t StepContext::UnixTimeNs(actord_step* step) {
  return Of(step).UnixTime();
}

uint64_t StepContext::MonotonicNs(actord_step* step) {
  StepContext& context = Of(step);
  if (context.monotonic_ns_ == 0) {
    context.is_used_ = true;
    context.monotonic_ns_ = context.world_.MonotonicNs();
    if (context.record_.keeps_answers) {
      context.record_.answers.emplace_back(
          MonotonicTimeAnswer{context.monotonic_ns_});
    }
  }
  return context.monotonic_ns_;
}

actord_bytes StepContext::TraceParent(actord_step* step) {
  StepContext& context = Of(step);
  const bool is_traced =
      (context.call_ == Call::kInit || context.call_ == Call::kStep) &&
      context.traces_ != nullptr && context.traces_->current() != nullptr;
  // A step of a durable process may be repeated without its trace, and must
  // then do the same.
  if (!is_traced || context.record_.keeps_answers) {
    return {};
  }
  context.traceparent_ = TraceparentOf(*context.traces_->current());
  return ToAbi(context.traceparent_);
}

uint64_t StepContext::RandomBits(actord_step* step) {
  StepContext& context = Of(step);
  if (!context.is_seeded_) {
    const TurnInput& input = context.input_;
    // No Init of a process draws the bits of one of its steps or of an earlier
    // Init.
    const uint64_t seed = context.world_.RandomSeed(
        input.self, input.step + input.life_after_step);
    context.random_ = Random(seed);
    context.is_used_ = true;
    context.is_seeded_ = true;
    if (context.record_.keeps_answers) {
      context.record_.answers.emplace_back(RandomAnswer{seed});
    }
  }
  return context.random_.Next();
}

World::ChildAnswer StepContext::ReserveChild(const actord_spawn& child) {
  const World::ChildAnswer answer =
      world_.ReserveChild(input_.self, UnixTime(), child);
  if (record_.keeps_answers) [[unlikely]] {
    record_.answers.emplace_back(ReserveChildAnswer{
        std::string(View(child.process_type)), std::string(View(child.method)),
        static_cast<uint8_t>(PriorityOf(child)), answer.pid, answer.refusal});
  }
  return answer;
}

actord_pid StepContext::FindName(actord_step* step, actord_bytes name) {
  StepContext& context = Of(step);
  // Init has no owner yet, and a call that has ended has no record.
  if (context.call_ != Call::kStep || !IsName(View(name))) return {};
  if (context.record_.answers.size() >= kMaxEffects) {
    context.Misuse(absl::ResourceExhaustedError(absl::StrCat(
        "the step asked the runtime more than ", kMaxEffects,
        " questions: for names, children, times and random bits")));
    return {};
  }
  return ToAbi(context.HolderOf(View(name)));
}

Pid StepContext::HolderOf(std::string_view name) {
  const Pid holder = world_.HolderOf(input_.self, name);
  if (record_.keeps_answers) {
    record_.answers.emplace_back(HolderAnswer{std::string(name), holder});
  }
  return holder;
}

void StepContext::SetResult(actord_step* step, const actord_payload* result) {
  StepContext& context = Of(step);
  if (!context.Accepts(*result, {}, "result")) return;
  StepRecord& record = context.record_;
  // A result is charged by its size, so it must not keep the memory of a longer
  // result.
  record.DropResult();
  if (result->bytes.size != 0) {
    record.has_said = true;
    record.result.bytes = View(result->bytes);
  }
  if (result->content_type.size != 0) {
    record.has_said = true;
    record.result.content_type = View(result->content_type);
  }
}

void StepContext::SetFailure(actord_step* step, int32_t status,
                             actord_bytes message) {
  StepRecord& record = Of(step).record_;
  record.has_said = true;
  record.failure_code = ErrorCodeFromAbi(status);
  // The text of a failure is for people; a page is enough.
  record.failure = std::string(CutUtf8(View(message), kMaxErrorTextBytes));
}

int32_t StepContext::AdoptYield(actord_step* step, uint64_t tag) {
  StepContext& context = Of(step);
  if (context.adoption_ == nullptr) {
    context.Misuse(absl::FailedPreconditionError(
        "adopt_yield was called; only restore may"));
    return ACTORD_FAILED_PRECONDITION;
  }
  if (!context.adoption_->outstanding.contains(tag)) return ACTORD_NOT_FOUND;
  context.adoption_->adopted.insert(tag);
  return ACTORD_OK;
}

}  // namespace actord::runtime
