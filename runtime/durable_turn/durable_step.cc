// The step of a durable process: the contents of its record, and the effects
// that follow when the journal has the record.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/logged_events.h"
#include "runtime/durable_turn/durable_turn.h"
#include "runtime/step/record_format.h"

namespace actord::runtime {
namespace {

// A warning tells that a history has reached 1/kWarnedShare of its limits.
constexpr uint64_t kWarnedShare = 5;

// Unit: bytes. Larger memory of the last step's effects or image is freed;
// otherwise the next step uses it again.
constexpr size_t kMaxKeptBytes = 64 << 10;

// An image stands for the state. So the record needs only the answers of the
// World that change the runtime: the children, and the times of their starts.
void KeepChildren(StepRecord& record) {
  const auto is_child = [](const WorldAnswer& answer) {
    return std::holds_alternative<ReserveChildAnswer>(answer);
  };
  if (std::none_of(record.answers.begin(), record.answers.end(), is_child)) {
    record.answers.clear();
    return;
  }
  std::erase_if(record.answers, [&](const WorldAnswer& answer) {
    return !is_child(answer) && !std::holds_alternative<UnixTimeAnswer>(answer);
  });
}

std::string WhyNoImage(const absl::Status& status) {
  return absl::StrCat("a durable process needs an image after each step: ",
                      status.message());
}

EndCause Failed(absl::StatusCode code, std::string message) {
  return {EndKind::kFailed, code, std::move(message)};
}

}  // namespace

records::TurnImage DurableTurn::TurnOf(const Process& process,
                                       const DurableState& state) const {
  return {.next_tag = process.next_tag,
          .step = process.steps.load(std::memory_order_relaxed) - state.queries,
          .verdict = caller_.record().verdict,
          .blocked = caller_.record().verdict == ACTORD_STEP_BLOCK,
          .step_due = process.step_due,
          .cancel_seen = process.cancel_seen};
}

void DurableTurn::NameCalls(const Turn& turn, DurableState& state) {
  for (Envelope* const envelope : inbox_.batch(turn)) {
    if (envelope->type == kEventLoggedCall) {
      const auto header = envelope->ReadHeader<LoggedCallHeader>();
      DurableState::Caller& caller = state.calls[header.position];
      caller.yield = {FromAbi(envelope->from), header.tag};
      caller.is_kept = caller.yield.pid.empty();
    } else if (envelope->type == kEventCall) {
      const uint64_t id = durable().CallIdOf(state.next_call++);
      state.calls[id].handle = envelope->ReadHeader<CallHeader>().call;
      envelope->WriteHeader(CallHeader{id});
    }
  }
  if (state.calls.size() < state.tidy_calls_at) return;
  ForgetGivenUpCalls(state);
  state.tidy_calls_at = std::max<size_t>(64, 2 * state.calls.size());
}

void DurableTurn::ForgetGivenUpCalls(DurableState& state) {
  absl::erase_if(state.calls, [this](const auto& call) {
    const DurableState::Caller& caller = call.second;
    return caller.yield.pid.empty() && !caller.is_kept &&
           !shared_.calls.IsOpen(caller.handle);
  });
}

void DurableTurn::OweCalls(Process& process, const Turn& turn,
                           const DurableState& state) {
  if (process.owed_calls == nullptr) return;
  auto& owed = process.owed_calls->calls;
  for (const Envelope* const envelope : inbox_.batch(turn)) {
    if (envelope->type == kEventLoggedCall) {
      owed.erase(envelope->ReadHeader<LoggedCallHeader>().position);
    } else if (envelope->type == kEventCall) {
      const uint64_t id = envelope->ReadHeader<CallHeader>().call;
      owed.erase(id);
      owed.insert(state.calls.at(id).handle);
    }
  }
}

std::optional<EndCause> DurableTurn::FailureOfStep(const Process& process) {
  if (IsPlain(caller_.record())) return std::nullopt;
  return caller_.FailureOfStep(process);
}

void DurableTurn::CallInit(Process& process, const Turn& turn,
                           const DurableState& state) {
  const Answers answers(caller_.record());
  if (process.steps.load(std::memory_order_relaxed) == 0) {
    caller_.Init(process, turn);
  } else {
    caller_.InitAgain(process, turn, state.queries);
  }
}

bool DurableTurn::CallStep(Process& process, const Turn& turn,
                           const DurableState& state) {
  StepRecord& record = caller_.record();
  const Answers answers(record);
  caller_.Step(process, turn, inbox_.batch(turn), state.queries);
  const bool has_drawn =
      std::any_of(record.answers.begin(), record.answers.end(),
                  [](const WorldAnswer& answer) {
                    return std::holds_alternative<RandomAnswer>(answer);
                  });
  if (!IsReplayed(process)) KeepChildren(record);
  return has_drawn;
}

bool DurableTurn::IsReplayed(const Process& process) {
  return process.type.load(std::memory_order_relaxed)->is_replayed();
}

bool DurableTurn::MayBeQuery(const Process& process, const Turn& turn,
                             DurableState& state) const {
  if (!state.waits || process.step_due || IsReplayed(process)) return false;
  // The events that a former life has handed on are in the journal.
  if (!state.unseen.empty()) return false;
  for (const Envelope* const event : inbox_.batch(turn)) {
    if (event->type != kEventCall) return false;
  }
  if (state.unexamined == 0) return true;
  --state.unexamined;
  return false;
}

bool DurableTurn::IsQuery(const Process& process, DurableState& state,
                          const std::optional<std::string>& before,
                          const std::optional<std::string>& after) const {
  if (!before) return false;
  const StepRecord& record = caller_.record();
  const auto is_answer_outside = [&state](const Effect& effect) {
    const auto* const reply = std::get_if<ReplyEffect>(&effect);
    if (reply == nullptr) return false;
    const auto call = state.calls.find(reply->call);
    return call == state.calls.end() ||
           (call->second.yield.pid.empty() && !call->second.is_kept);
  };
  const bool is_query = record.verdict == ACTORD_STEP_IDLE &&
                        !process.step_due && record.answers.empty() &&
                        before == after &&
                        std::all_of(record.effects.begin(),
                                    record.effects.end(), is_answer_outside);
  constexpr uint8_t kMaxUnexamined = 63;
  state.changes = is_query ? 0
                           : static_cast<uint8_t>(std::min(
                                 2 * state.changes + 1, int{kMaxUnexamined}));
  state.unexamined = state.changes;
  return is_query;
}

std::optional<std::string> DurableTurn::ImageBefore(Process& process,
                                                    const Turn& turn,
                                                    DurableState& state) {
  if (!MayBeQuery(process, turn, state)) return std::nullopt;
  std::string image;
  if (!images_.Take(process, turn, image).ok()) return std::nullopt;
  return image;
}

absl::StatusOr<uint64_t> DurableTurn::AppendStep(
    Process& process, Turn& turn, DurableState& state,
    std::optional<std::string> image, bool ends) {
  const StepRecord& record = caller_.record();
  records::Step& step = RecordOfStep(process, turn, state, std::move(image));
  if (ends) {
    LogMailbox(process, turn, state);
    step.end = EndOf(EndOfLife(caller_.input(), record), record.result);
  }
  absl::StatusOr<uint64_t> position = durable().Append(step);
  uint64_t consumed_bytes = 0;
  for (const Envelope* const event : inbox_.batch(turn)) {
    if (PositionOf(*event) != 0) consumed_bytes += event->payload_bytes;
  }
  state.CountStep(step, consumed_bytes);
  if (step.image) {
    spare_image_ = *std::move(step.image);
    if (spare_image_.capacity() > kMaxKeptBytes)
      std::string().swap(spare_image_);
    step.image.reset();
  }
  state.waits = record.verdict == ACTORD_STEP_IDLE && !process.step_due;
  return position;
}

int32_t DurableTurn::Step(Process& process, Turn& turn, DurableState& state) {
  const std::optional<std::string> before = ImageBefore(process, turn, state);
  NameCalls(turn, state);
  const bool has_drawn = CallStep(process, turn, state);
  OweCalls(process, turn, state);
  StepRecord& record = caller_.record();
  process.steps.store(caller_.input().step + state.queries,
                      std::memory_order_relaxed);
  lane_.Count(&Counters::steps);
  std::optional<EndCause> failure = FailureOfStep(process);
  std::optional<std::string> image;
  const bool again = !failure && BeginsAgain(caller_.input(), record);
  const bool ends = !failure && !again &&
                    (EndsLife(caller_.input(), record) ||
                     record.verdict == ACTORD_STEP_CONTINUE_AS);
  // Before the image is taken, which contains `next_tag`.
  if (!failure) process.next_tag = record.next_tag;
  if (again) {
    failure = continuing_.Prepare(process, turn, OwedCallsOf(state));
  } else if (!failure && !ends) {
    failure = TakeImage(process, turn, state, image);
  }
  absl::StatusOr<uint64_t> position;
  if (!failure) {
    // The next step would draw the same bits, as it would have the same number.
    if (!again && !ends && !has_drawn &&
        IsQuery(process, state, before, image)) {
      ++state.queries;
      spare_image_ = *std::move(image);
      position = durable().LastPosition();
    } else {
      position = AppendStep(process, turn, state, std::move(image), ends);
    }
    if (!position.ok()) {
      failure = Failed(position.status().code(),
                       std::string(position.status().message()));
    }
  }
  record.answers.clear();
  if (failure) {
    if (again) continuing_.Abandon(turn);
    caller_.KeepLines(applier_.Rollback(record));
    world_.GiveBackReserved();
    return BeginEnd(process, turn, state, *std::move(failure), 0);
  }
  if (!state.unseen.empty()) {
    for (const Envelope* const event : inbox_.batch(turn)) {
      state.unseen.erase(event);
    }
  }
  inbox_.FreeBatch(turn);
  caller_.SealRecord();
  const uint64_t first_unseen =
      records::UnseenPosition(*position, record.effects.size());
  durable_applier_.Apply(record, process, caller_.input().self, state,
                         *position);
  if (again) return BeginAgain(process, turn, state, *position, first_unseen);
  if (!ends) return record.verdict;
  EndCause cause = EndOfLife(caller_.input(), record);
  if (cause.kind == EndKind::kLimit) lane_.Count(&Counters::ended_by_steps);
  return BeginEnd(process, turn, state, std::move(cause), *position);
}

std::vector<uint64_t> DurableTurn::OwedCallsOf(DurableState& state) {
  ForgetGivenUpCalls(state);
  std::vector<uint64_t> owed;
  for (const auto& [call, caller] : state.calls) owed.push_back(call);
  return owed;
}

int32_t DurableTurn::BeginAgain(Process& process, Turn& turn,
                                DurableState& state, uint64_t position,
                                uint64_t first_unseen) {
  std::vector<YieldToken> withdrawn;
  const size_t handed_on = continuing_.EndLife(process, turn, &withdrawn);
  for (const Envelope* const event : FirstUnseen(process, handed_on)) {
    state.unseen[event] = first_unseen++;
  }
  process.init_due = true;
  process.step_due = true;
  state.history_steps = state.history_bytes = 0;
  state.warned_of_history = false;
  if (!withdrawn.empty()) {
    durable().releases().After(
        position, [withdrawn = std::move(withdrawn), &tasks = shared_.tasks] {
          for (const YieldToken& yield : withdrawn) tasks.Expire(yield);
        });
  }
  return ACTORD_STEP_CONTINUE_AS;
}

std::optional<EndCause> DurableTurn::TakeImage(
    Process& process, const Turn& turn, DurableState& state,
    std::optional<std::string>& image) {
  if (IsReplayed(process)) {
    const ProcessType& type = *process.type.load(std::memory_order_relaxed);
    if (state.IsImageDue() && type.durability.has_snapshots) {
      // If Snapshot refuses, the next step asks for an image again.
      std::string taken;
      if (images_.Take(process, turn, taken).ok()) image = std::move(taken);
    }
    const DurableLimits& limits = durable().limits();
    if (image || !state.HasHistory(limits, kWarnedShare)) return std::nullopt;
    const std::string history = absl::StrCat(
        state.history_steps, " steps and ", state.history_bytes,
        " bytes of events without an image of its state; the limits are ",
        limits.max_history_steps, " (store.max_history_steps) and ",
        limits.max_history_bytes, " (store.max_history)");
    if (state.HasHistory(limits, 1)) {
      return EndCause{EndKind::kLimit, absl::StatusCode::kResourceExhausted,
                      absl::StrCat("the process has taken ", history)};
    }
    if (!std::exchange(state.warned_of_history, true)) {
      shared_.log(LogLevel::kWarning,
                  absl::StrCat("process ", FormatPid(PidOf(process, turn)),
                               " of type ", type.name, " has taken ", history,
                               ". At a limit it ends"),
                  {.pid = PidOf(process, turn), .type = type.name});
    }
    return std::nullopt;
  }
  image.emplace(std::move(spare_image_));
  const absl::Status taken = images_.Take(process, turn, *image);
  if (taken.ok()) return std::nullopt;
  image.reset();
  return Failed(taken.code(), WhyNoImage(taken));
}

std::optional<records::Continued> DurableTurn::ContinuedOf(
    const Process& process) {
  const StepRecord& record = caller_.record();
  if (!BeginsAgain(caller_.input(), record)) return std::nullopt;
  const Continuation& next = *record.continuation;
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const uint32_t method = next.method.empty()
                              ? process.method.load(std::memory_order_relaxed)
                              : type.FindMethod(next.method);
  return records::Continued{.method = type.descriptor->methods[method].name,
                            .input = next.input,
                            .unseen = next.unseen,
                            .unknown = {}};
}

records::Step& DurableTurn::RecordOfStep(const Process& process,
                                         const Turn& turn,
                                         const DurableState& state,
                                         std::optional<std::string> image) {
  records::Step& step = step_;
  step.pid = PidOf(process, turn);
  step.turn = TurnOf(process, state);
  step.consumed.list.clear();
  step.record.clear();
  if (step.record.capacity() > kMaxKeptBytes) step.record.shrink_to_fit();
  step.deadlines = yields_.DeadlinesOf(caller_.record().effects);
  step.image = std::move(image);
  step.end.reset();
  step.continued = ContinuedOf(process);
  step.at_ns = durable().NowNs();
  step.order.clear();
  std::vector<const actord_event*> others;
  // Of a replay type: which events have a position, and whether one of them
  // follows an event without.
  std::string order;
  bool is_mixed = false;
  const bool is_replayed = IsReplayed(process);
  const std::span<Envelope* const> batch = inbox_.batch(turn);
  for (size_t i = 0; i < batch.size(); ++i) {
    const uint64_t position = PositionOf(*batch[i]);
    if (position == 0) {
      others.push_back(caller_.input().events[i]);
      continue;
    }
    step.consumed.list.push_back({.lsn = position});
    if (!is_replayed) continue;
    if (!others.empty()) is_mixed = true;
    order.resize(i / 8 + 1);
    order[i / 8] = static_cast<char>(order[i / 8] | (1 << (i % 8)));
  }
  EncodeTurn(others, caller_.record(), step.record);
  if (is_mixed) step.order = std::move(order);
  return step;
}

}  // namespace actord::runtime
