// What one call to Init or Step sees of the daemon, and what it wants to have
// done. A step is a transaction: its effects are recorded here and carried out
// by the runner after the step returned well.
//
// Thread-safety: belongs to one worker; reused from turn to turn.
#pragma once

#include <actord/abi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/actors/names.h"
#include "runtime/actors/ties.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/limits.h"
#include "runtime/step/effect.h"
#include "runtime/system/clock.h"
#include "runtime/system/random.h"

namespace actord::runtime {

struct YieldAdoption;  // upgrading.h

class StepContext : private actord_step {
 public:
  StepContext(const Catalog& catalog, ProcessTable& processes,
              const LiveLimits& limits, const Clock& clock, const Names& names,
              const Watches& watches, Lane& lane, uint64_t seed);
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  enum class Call : uint8_t { kNone, kInit, kStep, kSnapshot, kRestore };
  // Begins a call for `process`. Precondition: no effects are left. `adoption`:
  // of kRestore; borrowed until the next Begin.
  void Begin(Process& process, uint32_t generation, Call call,
             YieldAdoption* adoption = nullptr) {
    process_ = &process;
    self_ = processes_.PidOf(process, generation);
    call_ = call;
    adoption_ = adoption;
    max_payload_bytes_ = limits_.max_payload_bytes();
    unix_time_ns_ = 0;
    monotonic_ns_ = 0;
    yields_ = 0;
    new_watches_ = 0;
    first_tag_ = process.next_tag;
    // An earlier call, perhaps of another process, may have said something and
    // then returned a verdict that did not need it.
    if (has_said_) [[unlikely]] {
      ForgetSaid();
    }
  }
  actord_step* abi() { return this; }
  // What it recorded is being carried out: nothing is added any more, whatever
  // a handler does that kept the pointer.
  void End() { call_ = Call::kNone; }

  // Whose call it is.
  [[nodiscard]] const Pid& self() const { return self_; }
  // What the call recorded.
  std::vector<Effect>& effects() { return effects_; }
  [[nodiscard]] size_t yields() const { return yields_; }
  // A misuse that makes the call fail, whatever it returned.
  [[nodiscard]] const absl::Status& misuse() const { return misuse_; }
  Payload TakeResult() {
    Payload taken = std::move(result_);
    // Moved from, they need not be empty.
    result_.bytes.clear();
    result_.content_type.clear();
    return taken;
  }
  // With its memory, which clearing or assigning would keep.
  void DropResult() {
    if (result_.bytes.empty() && result_.content_type.empty()) return;
    static_cast<void>(TakeResult());
  }
  absl::StatusCode failure_code() const { return failure_code_; }
  std::string TakeFailure() { return std::exchange(failure_, {}); }

  // The step failed: nothing of it happens. What its effects own goes back.
  void Rollback();

 private:
  // More than this in one step is a runaway loop.
  static constexpr size_t kMaxEffects = 65536;
  static const actord_step_api kApi;

  static StepContext& Of(actord_step* step) {
    return *static_cast<StepContext*>(step);
  }
  static const StepContext& Of(const actord_step* step) {
    return *static_cast<const StepContext*>(step);
  }
  static actord_pid Self(const actord_step* step);
  static actord_pid Parent(const actord_step* step);
  static uint64_t UnixTimeNs(actord_step* step);
  static uint64_t RandomBits(actord_step* step);
  static uint64_t Yield(actord_step* step, const actord_yield* yield);
  static void Send(actord_step* step, const actord_pid* to,
                   const actord_message* message);
  static actord_pid Spawn(actord_step* step, const actord_spawn* spawn);
  static uint64_t CallProcess(actord_step* step, const actord_request* request);
  static void Reply(actord_step* step, uint64_t call, int32_t status,
                    const actord_payload* payload);
  static uint64_t Monitor(actord_step* step, const actord_pid* pid);
  static void Demonitor(actord_step* step, uint64_t tag);
  static void Link(actord_step* step, const actord_pid* pid);
  static void Unlink(actord_step* step, const actord_pid* pid);
  static void CancelYield(actord_step* step, uint64_t tag);
  static int32_t AdoptYield(actord_step* step, uint64_t tag);
  static uint64_t MonotonicNs(actord_step* step);
  static void SetResult(actord_step* step, const actord_payload* result);
  static void SetFailure(actord_step* step, int32_t status,
                         actord_bytes message);

  // A process mostly spawns processes of one type: remembers the last.
  const ProcessType* FindProcessType(std::string_view name);
  bool MayAct() {
    return call_ == Call::kStep && effects_.size() < kMaxEffects
               ? true
               : RefuseToAct();
  }
  // Likewise, and there is room for one more watch, which is counted.
  bool MayWatch();
  template <typename Kind, typename... Fields>
  Kind& Add(Fields&&... fields) {
    Effect& added = effects_.emplace_back(std::in_place_type<Kind>);
    auto& effect = *std::get_if<Kind>(&added);
    if constexpr (sizeof...(Fields) != 0) {
      effect = Kind{std::forward<Fields>(fields)...};
    }
    return effect;
  }
  // What the flags of a spawn say of watches. False: misuse.
  bool WatchChild(const actord_spawn& spawn, SpawnEffect& effect);
  // `name`: a topic, a command or nothing.
  bool Accepts(const actord_payload& payload, actord_bytes name,
               const char* what) {
    return Fits(payload, max_payload_bytes_) && name.size <= kMaxNameBytes
               ? true
               : RefuseContent(payload, what);
  }
  // Misuses; false. Apart, so that the ways that are taken stay short.
  [[gnu::noinline]] bool RefuseToAct();
  [[gnu::noinline]] bool RefuseToYield();
  [[gnu::noinline]] bool RefuseContent(const actord_payload& payload,
                                       const char* what);
  // Null: the yield has none. Apart, as few have one.
  Envelope* PolicyOf(const actord_yield& yield) {
    constexpr size_t kCovered =
        offsetof(actord_yield, policy) + sizeof(const void*);
    return yield.struct_size < kCovered || yield.policy == nullptr
               ? nullptr
               : CopyPolicy(*yield.policy);
  }
  [[gnu::noinline]] Envelope* CopyPolicy(const actord_work_policy& policy);
  // False: of the replies that came at once, which no limit of yields bounds,
  // its steps have left too many.
  bool TakesItsReplies() {
    return process_->replies < kMaxEffects ? true : RefuseToYield();
  }
  void Misuse(absl::Status status);
  // Of has_said_.
  [[gnu::noinline]] void ForgetSaid();

  const Catalog& catalog_;
  ProcessTable& processes_;
  const LiveLimits& limits_;
  const Clock& clock_;
  const Names& names_;
  const Watches& watches_;
  Lane& lane_;
  Random random_;

  Process* process_ = nullptr;
  Pid self_;
  Call call_ = Call::kInit;
  YieldAdoption* adoption_ = nullptr;
  size_t max_payload_bytes_ = 0;  // of the whole call
  // 0: not asked yet in this call.
  uint64_t unix_time_ns_ = 0;
  uint64_t monotonic_ns_ = 0;
  const ProcessType* last_type_ = nullptr;
  std::vector<Effect> effects_;
  size_t yields_ = 0;  // and calls
  size_t new_watches_ = 0;
  uint64_t first_tag_ = 0;
  // Whether anything of what follows may be other than at first.
  bool has_said_ = false;
  absl::Status misuse_;
  Payload result_;
  absl::StatusCode failure_code_ = absl::StatusCode::kUnknown;
  std::string failure_;
};

}  // namespace actord::runtime
