// The daemon's interface for one call of Init or Step. A step is a transaction:
// its effects are recorded here, and the runner carries them out after the step
// has succeeded.
//
// A call reaches the runtime only through World. All its other inputs are in
// the TurnInput.
//
// Thread-safety: belongs to one worker; reused from turn to turn.
// performance-notes: Rare code moved out, Short envelopes.
#pragma once

#include <actord/abi.h>
#include <actord/text.h>

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "handlers/rules/process_rules.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/step/step_record.h"
#include "runtime/step/turn_input.h"
#include "runtime/step/world.h"
#include "runtime/system/assert.h"
#include "runtime/system/random.h"
#include "runtime/tracing/turn_traces.h"

namespace actord::runtime {

struct YieldAdoption;  // upgrading.h

class StepContext : private actord_step {
 public:
  static constexpr size_t kMaxEffects = rules::kMaxEffects;

  // `buffers`: the buffers of the thread, for the contents of effects. `input`:
  // the input of each call; borrowed.
  StepContext(World& world, BufferCache& buffers, const TurnInput& input);
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  enum class Call : uint8_t { kNone, kInit, kStep, kSnapshot, kRestore };
  // Begins a call, whose first tag is `next_tag`. Precondition: no effects are
  // left. `adoption` is for kRestore, and is borrowed until the next Begin.
  //
  // Each send changes a shared word afterwards (Activity), and that waits for
  // all stores before it. So Begin stores only values that have changed
  // (performance-notes: Stores before a read-modify-write).
  void Begin(uint64_t next_tag, Call call, YieldAdoption* adoption = nullptr) {
    ACTORD_ASSERT_HOT(record_.effects.empty(),
                      "step_context.h: no effects are left");
    call_ = call;
    const size_t max_payload_bytes = world_.MaxPayloadBytes();
    if (max_payload_bytes_ != max_payload_bytes) {
      max_payload_bytes_ = max_payload_bytes;
    }
    if (is_used_) {
      unix_time_ns_ = 0;
      monotonic_ns_ = 0;
      is_seeded_ = false;
      new_ties_ = 0;
      adoption_ = nullptr;
      is_used_ = false;
    }
    if (adoption != nullptr) {
      adoption_ = adoption;
      is_used_ = true;
    }
    record_.yields = 0;
    record_.next_tag = next_tag;
    // An earlier call, perhaps of another process, may have set a result or a
    // failure and then returned a verdict that did not use it. (One branch for
    // both conditions.)
    if (int{record_.has_said} | int{record_.keeps_answers}) [[unlikely]] {
      BeginRecord();
    }
  }
  actord_step* abi() { return this; }
  // Shows each traced call to `traces`, which is borrowed.
  void TraceWith(TurnTraces& traces) {
    traces_ = &traces;
    traces.SetFlag(record_.has_said);
  }
  // KeepCall sees the next call, whatever that call does.
  void ShowNextCall() { shows_next_ = record_.has_said = true; }
  // Ends the call before its effects are carried out. From then on a handler
  // that has kept the pointer adds no effects.
  void End() { call_ = Call::kNone; }

  // The record of the call. The caller writes the verdict.
  StepRecord& record() { return record_; }

 private:
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
  static void ContinueAs(actord_step* step, const actord_continuation* next);
  static uint64_t MonotonicNs(actord_step* step);
  static actord_bytes TraceParent(actord_step* step);
  static actord_pid FindName(actord_step* step, actord_bytes name);
  static void Publish(actord_step* step, const actord_message* publication);
  static void Log(actord_step* step, int32_t level, actord_bytes text);
  static void SetResult(actord_step* step, const actord_payload* result);
  static void SetFailure(actord_step* step, int32_t status,
                         actord_bytes message);

  // Whether the call may add an effect, for which there is room then.
  //
  // One check covers the room and the limit, because there is never room for
  // more than kMaxEffects.
  bool MayAct() {
    return call_ == Call::kStep && HasRoom() ? true : GrowOrRefuse();
  }
  [[nodiscard]] bool HasRoom() const {
    return record_.effects.size() != record_.effects.capacity();
  }
  // MayAct, and there is room for one more tie, which is counted.
  bool MayTie();
  // Adds the effect Kind{fields...}. Precondition: MayAct() has returned true
  // for this effect. (Each field is stored once: performance-notes: Stores
  // before a read-modify-write.)
  template <typename Kind, typename... Fields>
  void Add(Fields&&... fields) {
    // In every build: the vector would make the same check, to grow.
    ACTORD_ASSERT(HasRoom(), "step_context.h: MayAct has made room");
    record_.effects.emplace_back(std::in_place_type<Kind>,
                                 Kind{std::forward<Fields>(fields)...});
  }
  // Sets the ties of the effect from the flags of the spawn. False: misuse.
  bool TieChild(const actord_spawn& spawn, SpawnEffect& effect);
  // The next tag for a yield, a call or a monitor.
  uint64_t NextTag() { return record_.next_tag++; }
  // `name`: a topic, a command or empty.
  bool Accepts(const actord_payload& payload, actord_bytes name,
               const char* what) {
    return Fits(payload, name, max_payload_bytes_)
               ? true
               : RefuseContent(payload, what);
  }
  // The call's time, which is asked once.
  uint64_t UnixTime() {
    if (unix_time_ns_ == 0) AskUnixTime();
    return unix_time_ns_;
  }
  [[gnu::noinline]] void AskUnixTime();
  Pid HolderOf(std::string_view name);
  World::ChildAnswer ReserveChild(const actord_spawn& child);
  [[gnu::always_inline]] Envelope* NewEnvelope(uint16_t type,
                                               std::string_view topic,
                                               const actord_payload& payload) {
    return Envelope::Create(buffers_, type, topic, payload);
  }
  // Makes room for more effects, or records a misuse and returns false.
  [[gnu::noinline]] bool GrowOrRefuse();
  // These functions record a misuse and return false. They are not inlined, so
  // that the common paths stay short.
  [[gnu::noinline]] bool RefuseToYield();
  [[gnu::noinline]] bool RefuseContent(const actord_payload& payload,
                                       const char* what);
  // Null: the yield has no policy. CopyPolicy is not inlined, because few
  // yields have a policy.
  Envelope* PolicyOf(const actord_yield& yield) {
    const actord_work_policy* const policy = rules::PolicyOf(yield);
    return policy == nullptr ? nullptr : CopyPolicy(*policy);
  }
  [[gnu::noinline]] Envelope* CopyPolicy(const actord_work_policy& policy);
  // False: too many immediate completions wait for the steps of the process.
  // The limit of yields does not bound them.
  bool TakesItsReplies() {
    return input_.replies < kMaxEffects ? true : RefuseToYield();
  }
  void Misuse(absl::Status status);
  // Resets the fields that StepRecord::has_said covers, and keeps the payload
  // limit if the record keeps answers.
  [[gnu::noinline]] void BeginRecord();
  // Whether the call that begins is traced.
  bool BeginTrace();

  World& world_;
  BufferCache& buffers_;

  const TurnInput& input_;
  Call call_ = Call::kInit;
  // False: the adoption, the times, the seed and the ties have their initial
  // values.
  bool is_used_ = false;
  YieldAdoption* adoption_ = nullptr;
  size_t max_payload_bytes_ = 0;  // the same for the whole call
  // 0: the call has not asked for this time yet.
  uint64_t unix_time_ns_ = 0;
  uint64_t monotonic_ns_ = 0;
  bool is_seeded_ = false;  // random_ is seeded in this call
  Random random_{0};
  uint64_t new_ties_ = 0;
  bool shows_next_ = false;
  TurnTraces* traces_ = nullptr;  // null: the calls are never traced
  std::string traceparent_;       // the text that the plugin has asked for
  StepRecord record_;
};

}  // namespace actord::runtime
