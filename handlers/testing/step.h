// One call into a process: the queries of the process, and the effects that it
// requests.
//
// Thread-safety: none. Ownership: owns its effects until they are taken.
#pragma once

#include <actord/abi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/testing/history.h"
#include "handlers/testing/world.h"

namespace actord::testing {

struct StepCall : actord_step {
  // `name`: "step", which may have effects, or "init", "snapshot" or "restore".
  StepCall(Harness::World& called_in, Record& called, std::string_view name);

  // Drops the reserved children and the tags.
  void Rollback();
  // Writes the newest lines that the failed step has asked for into the log.
  void LogFailed() const;

  static StepCall& Of(actord_step* step) {
    return *static_cast<StepCall*>(step);
  }
  static const StepCall& Of(const actord_step* step) {
    return *static_cast<const StepCall*>(step);
  }

  Harness::World& world;
  Record& record;
  const std::string_view call_name;
  // See Keep; null: the answers are not kept.
  Answers* kept = nullptr;
  // The answers of an earlier call, which this call gets again; null: the
  // context answers. Beyond the end of a list the call gets other answers that
  // are the same each time; adopt_yield is answered by the context.
  const Answers* given = nullptr;
  const Tag first_tag;
  std::vector<Effect> effects;
  OwnedPayload result;
  // The arguments of continue_as.
  std::optional<NextLife> next_life;
  Code failure_code = Code::kUnknown;
  std::string failure;
  // The first broken rule.
  Status misuse;
  // The text of the exception of the call; empty: it threw none.
  std::string thrown;
  // The tags that "restore" has taken over; null for the other calls.
  std::set<Tag>* adopted = nullptr;

  // From now on, keeps the answers of the context in `answers`.
  void Keep(Answers& answers);
  // Calls `type.step` with the events and returns its verdict.
  int32_t Step(const actord_process_type& type, void* state,
               const std::vector<OwnedEvent>& events);
  // How the step that returned `verdict` ended.
  [[nodiscard]] StepEnd EndOf(int32_t verdict) const;

  [[nodiscard]] uint64_t NowNs() const;
  uint64_t Random();
  // The holder of the name; empty(): there is none, or this is not a step.
  Pid FindName(std::string_view name);
  // Adds the publication to the effects.
  static void Publish(actord_step* step, const actord_message* publication);
  // Adds the line of the log to the effects.
  static void Log(actord_step* step, int32_t level, actord_bytes text);
  // Reserves a child; empty(): there is no room.
  Pid NewChild(const actord_spawn& spawn, int priority);
  int32_t Adopt(Tag tag);

  void Misuse(Code code, std::string what);
  bool MayAct();
  bool Accepts(const actord_payload& payload, const actord_bytes& name,
               const char* what);

 private:
  size_t random_given_ = 0;
  size_t spawned_given_ = 0;
  size_t holders_given_ = 0;
  size_t adopted_given_ = 0;
};

}  // namespace actord::testing
