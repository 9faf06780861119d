// A plugin that uses the bare ABI and breaks its rules: it lets exceptions out
// and returns invalid values.
#include <actord/abi.h>

#include <stdexcept>
#include <string_view>

namespace {

enum Method : uint32_t { kInit, kStep, kClose, kVerdict, kHandler, kReturn };

constexpr actord_method kMethods[] = {
    {"init", "An exception leaves init."},
    {"step", "An exception leaves step."},
    {"close", "Ends well; an exception leaves close."},
    {"verdict", "step returns what is no verdict."},
    {"handler", "Yields to a handler that an exception leaves."},
    {"handler_return", "Yields to a handler that returns nonsense."},
};

constexpr actord_bytes Bytes(std::string_view text) {
  return {text.data(), text.size()};
}

int32_t Init(void* state, const actord_init* init, actord_step* /*step*/) {
  if (init->method == kInit) throw std::runtime_error("left init");
  *static_cast<uint32_t*>(state) = init->method;
  return ACTORD_OK;
}

int32_t Step(void* state, const actord_event* const* events, size_t count,
             actord_step* step) {
  if (count != 0) {
    step->api->set_result(step, &events[0]->payload);
    return ACTORD_STEP_DONE;
  }
  const uint32_t method = *static_cast<uint32_t*>(state);
  if (method == kStep) throw std::runtime_error("left step");
  if (method == kVerdict) return 99;
  if (method == kClose) return ACTORD_STEP_DONE;
  actord_yield yield = {};
  yield.struct_size = sizeof(yield);
  yield.command =
      Bytes(method == kHandler ? "rule_breaker.throw" : "rule_breaker.return");
  step->api->yield(step, &yield);
  return ACTORD_STEP_BLOCK;
}

void Close(void* state) {
  if (*static_cast<uint32_t*>(state) == kClose) {
    throw std::runtime_error("left close");
  }
}

int32_t HandleThrow(void* /*self*/, actord_call* /*call*/) {
  throw std::runtime_error("left handle");
}

int32_t HandleReturn(void* /*self*/, actord_call* /*call*/) { return 99; }

constexpr actord_process_type kType = {sizeof(actord_process_type),
                                       0,
                                       "rule_breaker",
                                       nullptr,
                                       sizeof(uint32_t),
                                       alignof(uint32_t),
                                       kMethods,
                                       std::size(kMethods),
                                       &Init,
                                       &Step,
                                       &Close,
                                       nullptr,
                                       nullptr,
                                       ACTORD_DURABILITY_NONE,
                                       0,
                                       0};
constexpr const actord_process_type* kTypes[] = {&kType};

constexpr actord_command_handler kThrow = {sizeof(actord_command_handler),
                                           ACTORD_HANDLER_INLINE,
                                           "rule_breaker.throw",
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           &HandleThrow,
                                           0,
                                           0};
constexpr actord_command_handler kReturnNonsense = {
    sizeof(actord_command_handler),
    ACTORD_HANDLER_POOLED,
    "rule_breaker.return",
    nullptr,
    nullptr,
    nullptr,
    &HandleReturn,
    0,
    0};
constexpr const actord_command_handler* kCommands[] = {&kThrow,
                                                       &kReturnNonsense};

}  // namespace

extern "C" {
constinit const actord_plugin_info actord_plugin = {ACTORD_ABI_MAGIC,
                                                    ACTORD_ABI_VERSION,
                                                    sizeof(actord_plugin_info),
                                                    "rule_breaker",
                                                    "1",
                                                    kTypes,
                                                    std::size(kTypes),
                                                    kCommands,
                                                    std::size(kCommands)};
}
