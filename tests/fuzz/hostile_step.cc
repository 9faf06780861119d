// The functions that a process may call during a step, with any arguments.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/hostile_process.h"
#include "tests/fuzz/hostile_values.h"

namespace actord::fuzz {
namespace {

void ReadPlace(actord_step* step, const actord_pid& /*pid*/) {
  See(plugin->pids, step->api->self(step));
  See(plugin->pids, step->api->parent(step));
}

void ReadClocks(actord_step* step, const actord_pid& /*pid*/) {
  const actord_step_api& api = *step->api;
  Require(api.unix_time_ns(step) == api.unix_time_ns(step),
          "time stands still in a step");
  Require(api.monotonic_ns(step) == api.monotonic_ns(step),
          "time stands still in a step");
  api.random(step);
}

void Yield(actord_step* step, const actord_pid& /*pid*/) {
  actord_work_policy policy{.struct_size = AnySize(sizeof(policy)),
                            .max_attempts = plugin->input.Byte(),
                            .lease_ns = AnyTime(),
                            .attempt_timeout_ns = AnyTime(),
                            .start_timeout_ns = AnyTime(),
                            .backoff_ns = AnyTime(),
                            .max_backoff_ns = AnyTime()};
  // The ABI reads what struct_size covers, so more must not be claimed.
  policy.struct_size =
      std::min(policy.struct_size, static_cast<uint32_t>(sizeof(policy)));
  const actord_yield yield{
      .struct_size = AnySize(sizeof(yield)),
      .reserved = 0,
      .timeout_ns = AnyTime(),
      .command = AnyText(kLabel),
      .payload = AnyPayload(),
      .policy = plugin->input.Byte() % 2 == 0 ? nullptr : &policy};
  const uint64_t tag = step->api->yield(step, &yield);
  Require(tag != 0, "a yield has a tag");
  See(plugin->tags, tag);
}

void Send(actord_step* step, const actord_pid& /*pid*/) {
  const actord_pid to = AnyPid();
  const actord_message message = AnyMessage();
  step->api->send(step, &to, &message);
}

void Spawn(actord_step* step, const actord_pid& /*pid*/) {
  uint64_t tag = 0;
  const actord_spawn spawn = AnySpawn(&tag);
  const actord_pid child = step->api->spawn(step, &spawn);
  if (child.generation != 0) See(plugin->pids, child);
  if (tag != 0) See(plugin->tags, tag);
}

void CallAnother(actord_step* step, const actord_pid& /*pid*/) {
  const actord_request request{.struct_size = AnySize(sizeof(request)),
                               .reserved = 0,
                               .timeout_ns = AnyTime(),
                               .to = AnyPid(),
                               .name = TrueText(),
                               .topic = AnyText(kLabel),
                               .payload = AnyPayload()};
  See(plugin->tags, step->api->call(step, &request));
}

void Reply(actord_step* step, const actord_pid& /*pid*/) {
  const actord_payload payload = AnyPayload();
  const int32_t status = plugin->input.Byte() % 20;
  step->api->reply(step, AnyNumber(plugin->calls), status,
                   plugin->input.Byte() % 4 == 0 ? nullptr : &payload);
}

void Publish(actord_step* step, const actord_pid& /*pid*/) {
  const actord_message publication = AnyMessage();
  step->api->publish(step, &publication);
}

void ReadPids(actord_step* step, const actord_pid& /*pid*/) {
  const actord_pid pid = AnyPid();
  char text[64];
  const size_t length = step->api->format_pid(step, &pid, text);
  Require(length <= sizeof(text), "the text of a PID fits");
  actord_pid read{};
  const int32_t status = step->api->parse_pid(step, {text, length}, &read);
  Require((status == ACTORD_OK) == (pid.generation != 0), "a PID reads back");
  step->api->parse_pid(step, AnyText(64), &read);
}

void Log(actord_step* step, const actord_pid& /*pid*/) {
  step->api->log(step, plugin->input.Byte() - 100, TrueText());
}

void SetResult(actord_step* step, const actord_pid& /*pid*/) {
  const actord_payload result = AnyPayload();
  step->api->set_result(step, &result);
}

void SetFailure(actord_step* step, const actord_pid& /*pid*/) {
  // As much as `size` says must be there.
  step->api->set_failure(step, plugin->input.Byte() - 100, TrueText());
}

void Monitor(actord_step* step, const actord_pid& pid) {
  See(plugin->tags, step->api->monitor(step, &pid));
}

void Demonitor(actord_step* step, const actord_pid& /*pid*/) {
  step->api->demonitor(step, AnyNumber(plugin->tags));
}

void LinkOrUnlink(actord_step* step, const actord_pid& pid) {
  const bool links = plugin->input.Byte() % 2 == 0;
  (links ? step->api->link : step->api->unlink)(step, &pid);
}

void CancelYield(actord_step* step, const actord_pid& /*pid*/) {
  step->api->cancel_yield(step, AnyNumber(plugin->tags));
}

void ReadTrace(actord_step* step) {
  const actord_bytes trace = step->api->trace_parent(step);
  const std::string text(static_cast<const char*>(trace.data), trace.size);
  Require(text.empty() || text.starts_with("00-"), "a trace is a traceparent");
}

void AdoptAndAsk(actord_step* step, const actord_pid& /*pid*/) {
  See(plugin->pids, step->api->find_name(step, AnyText(140)));
  step->api->adopt_yield(step, AnyNumber(plugin->tags));
  Require(step->api->max_payload_bytes(step) == kHostilePayloadLimit,
          "the limit is known");
  ReadTrace(step);
}

// No step has got it.
actord_event InventedEvent() {
  return {.type = plugin->input.Byte() % 8u,
          .status = plugin->input.Byte() % 20,
          .tag = AnyNumber(plugin->tags),
          .from = AnyPid(),
          .topic = AnyText(kLabel),
          .payload = {TrueText(), AnyText(kLabel)},
          .call = AnyNumber(plugin->calls),
          .reason = plugin->input.Byte(),
          .reserved = 0};
}

// Hands on events of this step and an invented one, in any order, and some of
// them several times.
void ContinueAs(actord_step* step, const actord_pid& /*pid*/) {
  const actord_event invented = InventedEvent();
  std::vector<const actord_event*> unseen;
  for (size_t count = plugin->input.Below(5); count > 0; --count) {
    const size_t chosen = plugin->input.Below(plugin->events.size() + 1);
    unseen.push_back(chosen < plugin->events.size() ? plugin->events[chosen]
                                                    : &invented);
  }
  const actord_continuation next{
      .struct_size = AnySize(sizeof(next)),
      .unseen_count = static_cast<uint32_t>(unseen.size()),
      .method = AnyText(kLabel),
      .input = AnyPayload(),
      .unseen = unseen.empty() ? nullptr : unseen.data()};
  step->api->continue_as(step, &next);
}

using Function = void (*)();
constexpr size_t kFirstFunction = offsetof(actord_step_api, self);
constexpr size_t kFunctions =
    (sizeof(actord_step_api) - kFirstFunction) / sizeof(Function);

// The bit of the function at this offset of actord_step_api.
constexpr uint64_t Bit(size_t offset) {
  return uint64_t{1} << ((offset - kFirstFunction) / sizeof(Function));
}

struct Case {
  uint64_t calls;  // the bits of the functions that it calls
  void (*run)(actord_step* step, const actord_pid& pid);
};

constexpr uint64_t kYieldBit = Bit(offsetof(actord_step_api, yield));
constexpr uint64_t kSpawnBit = Bit(offsetof(actord_step_api, spawn));

constexpr Case kCases[] = {
    {Bit(offsetof(actord_step_api, self)) |
         Bit(offsetof(actord_step_api, parent)),
     ReadPlace},
    {Bit(offsetof(actord_step_api, unix_time_ns)) |
         Bit(offsetof(actord_step_api, monotonic_ns)) |
         Bit(offsetof(actord_step_api, random)),
     ReadClocks},
    {kYieldBit, Yield},
    {kYieldBit, Yield},
    {kYieldBit, Yield},
    {Bit(offsetof(actord_step_api, log)), Log},
    {Bit(offsetof(actord_step_api, send)), Send},
    {Bit(offsetof(actord_step_api, publish)), Publish},
    {kSpawnBit, Spawn},
    {kSpawnBit, Spawn},
    {Bit(offsetof(actord_step_api, set_result)), SetResult},
    {Bit(offsetof(actord_step_api, set_failure)), SetFailure},
    {Bit(offsetof(actord_step_api, format_pid)) |
         Bit(offsetof(actord_step_api, parse_pid)),
     ReadPids},
    {Bit(offsetof(actord_step_api, call)), CallAnother},
    {Bit(offsetof(actord_step_api, reply)), Reply},
    {Bit(offsetof(actord_step_api, monitor)), Monitor},
    {Bit(offsetof(actord_step_api, demonitor)), Demonitor},
    {Bit(offsetof(actord_step_api, link)) |
         Bit(offsetof(actord_step_api, unlink)),
     LinkOrUnlink},
    {Bit(offsetof(actord_step_api, cancel_yield)), CancelYield},
    {Bit(offsetof(actord_step_api, find_name)) |
         Bit(offsetof(actord_step_api, adopt_yield)) |
         Bit(offsetof(actord_step_api, max_payload_bytes)) |
         Bit(offsetof(actord_step_api, trace_parent)),
     AdoptAndAsk},
    {Bit(offsetof(actord_step_api, continue_as)), ContinueAs},
};

constexpr bool EachFunctionHasACase() {
  uint64_t called = 0;
  for (const Case& one : kCases) called |= one.calls;
  return called == (uint64_t{1} << kFunctions) - 1;
}
static_assert(kFunctions < 64, "a bit for each function");
static_assert(EachFunctionHasACase(),
              "a function of actord_step_api has no case in kCases");

}  // namespace

void CallStep(actord_step* step) {
  const actord_pid pid = AnyPid();
  const size_t chosen = plugin->input.Byte() % std::size(kCases);
  kCases[chosen].run(step, pid);
}

}  // namespace actord::fuzz
