#include "runtime/durable_turn/absent_types.h"

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

void Refuse() {
  ACTORD_ASSERT(false, "absent_types.h: no function of a stand-in is called");
}

int32_t Init(void* /*state*/, const actord_init* /*init*/,
             actord_step* /*step*/) {
  Refuse();
  return ACTORD_INTERNAL;
}

int32_t Step(void* /*state*/, const actord_event* const* /*events*/,
             size_t /*count*/, actord_step* /*step*/) {
  Refuse();
  return ACTORD_STEP_FAIL;
}

void Close(void* /*state*/) { Refuse(); }

}  // namespace

absl::Status NoSuchType(std::string_view process_type,
                        std::string_view last_plugin) {
  return absl::FailedPreconditionError(absl::StrCat(
      "no plugin has process type ", ToAbsl(process_type), "; load ",
      last_plugin.empty() ? "the plugin that has it" : "plugin ",
      ToAbsl(last_plugin), last_plugin.empty() ? "" : ", which has run it"));
}

absl::Status WhyTypeDoesNotFit(const ProcessType* type,
                               const NeededType& needed) {
  const auto refuse = [](auto... texts) {
    return absl::FailedPreconditionError(absl::StrCat(texts...));
  };
  if (type == nullptr) return NoSuchType(needed.process_type, {});
  if (type->FindMethod(needed.method) == ProcessType::kNoSuchMethod) {
    return refuse("process type ", type->name, " of plugin ", type->plugin, " ",
                  type->version, " has no method ", ToAbsl(needed.method),
                  "; load a version that has it");
  }
  if (!type->can_be_durable()) {
    return refuse("process type ", type->name, " of plugin ", type->plugin, " ",
                  type->version, " cannot be durable; load a version that can");
  }
  if (needed.started && type->is_replayed() != (needed.durability ==
                                                records::Durability::kReplay)) {
    return refuse("process type ", type->name, " of plugin ", type->plugin, " ",
                  type->version,
                  " is durable in another way; load a version that is durable "
                  "as before");
  }
  return absl::OkStatus();
}

const ProcessType& AbsentTypes::For(const std::string& name,
                                    const std::string& method,
                                    bool traps_exits) {
  const MutexLock lock(mutex_);
  std::unique_ptr<StandIn>& place = types_[{name, method, traps_exits}];
  if (place != nullptr) return place->type;
  place = std::make_unique<StandIn>();
  StandIn& made = *place;
  made.name = name;
  made.method_name = method;
  made.method.name = made.method_name.c_str();
  actord_process_type& descriptor = made.descriptor;
  descriptor.struct_size = sizeof descriptor;
  descriptor.flags = traps_exits ? ACTORD_TYPE_TRAPS_EXITS : 0;
  descriptor.name = made.name.c_str();
  descriptor.methods = &made.method;
  descriptor.method_count = 1;
  descriptor.init = Init;
  descriptor.step = Step;
  descriptor.close = Close;
  made.type.descriptor = &descriptor;
  made.type.in_force.store(false, std::memory_order_relaxed);
  made.type.name = name;
  return made.type;
}

}  // namespace actord::runtime
