// One call into a process: the queries of the process, and the effects that it
// requests.
//
// Thread-safety: none. Ownership: owns its effects until they are taken.
#pragma once

#include <actord/abi.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/testing/world.h"

namespace actord::testing {

struct StepCall : actord_step {
  // `name`: "step", which may have effects, or "init", "snapshot" or "restore".
  StepCall(Harness::World& called_in, Record& called, std::string_view name);

  // Drops the reserved children and the tags.
  void Rollback();

  static StepCall& Of(actord_step* step) {
    return *static_cast<StepCall*>(step);
  }
  static const StepCall& Of(const actord_step* step) {
    return *static_cast<const StepCall*>(step);
  }

  Harness::World& world;
  Record& record;
  const std::string_view call_name;
  const Tag first_tag;
  std::vector<Effect> effects;
  OwnedPayload result;
  Code failure_code = Code::kUnknown;
  std::string failure;
  // The first broken rule.
  Status misuse;
  // What the call threw; empty: nothing.
  std::string thrown;
  // The tags that "restore" has taken over; null for the other calls.
  std::set<Tag>* adopted = nullptr;

  void Misuse(Code code, std::string what);
  bool MayAct();
  bool Accepts(const actord_payload& payload, const actord_bytes& name,
               const char* what);
};

}  // namespace actord::testing
