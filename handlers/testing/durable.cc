// Checks whether processes of durable types survive a crash: a harness runs
// their steps again in a second state, and lets them lose their state.
//
// - The first state of an image type becomes its shadow at its first crash.
// From
//   then on the shadow gets each step again, and so is the state that has never
//   crashed.
// - The shadow of a replay type is a state in which all steps since the
//   beginning were run again.
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "handlers/rules/durability.h"
#include "handlers/rules/process_rules.h"
#include "handlers/testing/step.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// Up to this number of steps, all steps are run again after each step.
constexpr size_t kStepsReplayedEachTime = 64;

rules::Durability KindOf(const Record& record) {
  return rules::DurabilityOf(*record.type).kind;
}

bool IsImage(rules::Durability kind) {
  return kind == rules::Durability::kSnapshotImage ||
         kind == rules::Durability::kFlatImage;
}

std::string Named(const Record& record) {
  return std::string(record.type_name()) + " " +
         Harness::World::FormatPid(record.pid);
}

// Lets a call that is made again return the tags that it returned before.
class TagsAgain {
 public:
  TagsAgain(Record& record, const Answers& answers)
      : record_(record), next_tag_(record.next_tag) {
    record.next_tag = answers.first_tag;
  }
  ~TagsAgain() { record_.next_tag = next_tag_; }
  TagsAgain(const TagsAgain&) = delete;
  TagsAgain& operator=(const TagsAgain&) = delete;

 private:
  Record& record_;
  const Tag next_tag_;
};

// Calls init, snapshot or restore. nullopt: it returned ACTORD_OK.
template <typename Function>
std::optional<Status> WhyFailed(StepCall& call, const char* name,
                                const Function& function) {
  int32_t status = ACTORD_INTERNAL;
  try {
    status = function();
  } catch (...) {
    return Status(Code::kInternal, detail::DescribeException(name));
  }
  if (!call.misuse.ok()) return call.misuse;
  if (status == ACTORD_OK) return std::nullopt;
  return Status(ToCode(rules::ErrorCodeOf(status)),
                std::string(name) + " refused with " +
                    std::string(CodeName(ToCode(status))) + ": " +
                    call.failure);
}

}  // namespace

std::optional<Status> Harness::World::Begun(Record& record,
                                            Beginning beginning) {
  const rules::Durability kind = KindOf(record);
  record.history.reset();
  if (kind == rules::Durability::kNone || record.is_volatile) {
    return std::nullopt;
  }
  record.history = std::make_unique<History>();
  record.history->beginning = std::move(beginning);
  Image image;
  if (std::optional<Status> why = TakeImage(record, image)) return why;
  Crash(record, std::move(image));
  return std::nullopt;
}

bool Harness::World::IsChecked(const Record& record) const {
  if (record.history == nullptr) return false;
  return KindOf(record) == rules::Durability::kReplay ||
         record.history->shadow != nullptr;
}

void Harness::World::CheckAgain(Record& record, StepLog done) {
  if (KindOf(record) == rules::Durability::kReplay) {
    return ReplayAgain(record, std::move(done));
  }
  const StepEnd again = StepAgain(record, done, record.history->shadow.get());
  const auto difference =
      DifferenceOf(again, "without the crashes", done.end, "after the crashes");
  if (!difference) return;
  Break(Named(record) + " does not survive a crash: its step " +
        std::to_string(done.number) +
        " differs from the same step of a process that has not crashed\n" +
        *difference);
}

void Harness::World::ReplayAgain(Record& record, StepLog done) {
  History& history = *record.history;
  const bool is_last = done.end.verdict == ACTORD_STEP_DONE ||
                       done.end.verdict == ACTORD_STEP_CONTINUE_AS ||
                       !done.end.failure.ok();
  history.steps.push_back(std::move(done));
  const size_t count = history.steps.size();
  size_t from = count - 1;
  if (crashes || is_last || history.shadow == nullptr ||
      count <= kStepsReplayedEachTime || std::has_single_bit(count)) {
    CloseShadow(record);
    history.shadow = BeginAgain(record, history.beginning);
    from = 0;
  }
  for (size_t i = from; i < count; ++i) {
    const StepLog& step = history.steps[i];
    const StepEnd again = StepAgain(record, step, history.shadow.get());
    const auto difference = DifferenceOf(step.end, "at first", again, "again");
    if (!difference) continue;
    Break(Named(record) + " cannot be replayed: its step " +
          std::to_string(step.number) +
          " does something else when it is run again after its step " +
          std::to_string(history.steps.back().number) + "\n" + *difference);
  }
}

StateMemory Harness::World::BeginAgain(Record& record,
                                       const Beginning& beginning) {
  const actord_process_type& type = *record.type;
  StateMemory state = NewState(type);
  const TagsAgain tags(record, beginning.answers);
  std::set<Tag> adopted;
  std::optional<Status> why;
  if (beginning.restored_from) {
    StepCall call(*this, record, "restore");
    call.given = &beginning.answers;
    call.adopted = &adopted;
    const actord_restore restore = {sizeof(actord_restore),
                                    beginning.method,
                                    beginning.payload.view().ToAbi(),
                                    detail::ToAbi(*beginning.restored_from),
                                    ACTORD_RESTORE_UPGRADE,
                                    /*from_flat_version=*/0};
    why = WhyFailed(call, "Restore",
                    [&] { return type.restore(state.get(), &restore, &call); });
  } else {
    StepCall call(*this, record, "init");
    call.given = &beginning.answers;
    const actord_init init = {sizeof(actord_init), beginning.method,
                              beginning.payload.view().ToAbi()};
    why = WhyFailed(call, "Init",
                    [&] { return type.init(state.get(), &init, &call); });
  }
  if (why) {
    Break(Named(record) + " cannot be replayed: its start has succeeded, and " +
          "fails when it is run again: " + why->message());
  }
  return state;
}

StepEnd Harness::World::StepAgain(Record& record, const StepLog& done,
                                  void* state) {
  const TagsAgain tags(record, done.answers);
  StepCall call(*this, record, "step");
  call.given = &done.answers;
  const int32_t verdict = call.Step(*record.type, state, done.events);
  return call.EndOf(verdict);
}

std::optional<Status> Harness::World::TakeImage(Record& record, Image& image) {
  const rules::TypeDurability how = rules::DurabilityOf(*record.type);
  if (!crashes || record.is_volatile || !IsImage(how.kind)) return std::nullopt;
  if (how.kind == rules::Durability::kFlatImage) {
    image = OwnedPayload(Payload::Binary(
        {reinterpret_cast<const char*>(record.state.get()), how.flat_bytes}));
    return std::nullopt;
  }
  // The answers do not come from the world, so that the run stays the same.
  Answers answers;
  answers.now_ns = now_ns;
  StepCall call(*this, record, "snapshot");
  call.given = &answers;
  auto why = WhyFailed(call, "Snapshot", [&] {
    return record.type->snapshot(record.state.get(), &call);
  });
  if (!why) {
    image = std::move(call.result);
    return std::nullopt;
  }
  return Status(why->code(),
                "a process of an image type needs an image after "
                "Init and after each step: " +
                    why->message());
}

StateMemory Harness::World::RestoreImage(Record& record,
                                         const OwnedPayload& image) {
  const actord_process_type& type = *record.type;
  StateMemory state = NewState(type);
  if (KindOf(record) == rules::Durability::kFlatImage) {
    std::memcpy(state.get(), image.bytes.data(), image.bytes.size());
    return state;
  }
  Answers answers;
  answers.now_ns = now_ns;
  std::set<Tag> adopted;
  StepCall call(*this, record, "restore");
  call.given = &answers;
  call.adopted = &adopted;
  const actord_restore restore = {
      sizeof(actord_restore),  record.method,
      image.view().ToAbi(),    detail::ToAbi(plugin.version),
      ACTORD_RESTORE_RECOVERY,
      /*from_flat_version=*/0};
  const auto why = WhyFailed(call, "Restore", [&] {
    return type.restore(state.get(), &restore, &call);
  });
  if (why) {
    Break(Named(record) + " does not survive a crash after its step " +
          std::to_string(record.steps) + ": " + why->message());
  }
  return state;
}

void Harness::World::Crash(Record& record, Image image) {
  if (!crashes || record.history == nullptr) return;
  History& history = *record.history;
  StateMemory state = {nullptr, Freed{}};
  if (image) {
    state = RestoreImage(record, *image);
  } else if (history.shadow != nullptr) {
    state = std::move(history.shadow);
  } else {
    state = BeginAgain(record, history.beginning);
  }
  std::swap(state, record.state);
  const bool becomes_shadow =
      image && history.shadow == nullptr && crashes->compare_images;
  if (becomes_shadow) {
    history.shadow = std::move(state);
  } else {
    lost_states_.emplace_back(record.type, std::move(state));
  }
}

void Harness::World::CloseShadow(Record& record) {
  if (record.history == nullptr || record.history->shadow == nullptr) return;
  CloseObject(*record.type, record.history->shadow.get());
  record.history->shadow.reset();
}

}  // namespace actord::testing
