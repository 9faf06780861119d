// The commands of a harness: which code handles them, and how they complete.
#include <actord/plugin.h>
#include <actord/text.h>

#include <cstdio>
#include <utility>

#include "handlers/commands/groups.h"
#include "handlers/commands/log_write.h"
#include "handlers/commands/names.h"
#include "handlers/commands/process_end.h"
#include "handlers/commands/process_send.h"
#include "handlers/commands/process_spawn.h"
#include "handlers/commands/timer_sleep.h"
#include "handlers/rules/durability.h"
#include "handlers/rules/process_rules.h"
#include "handlers/testing/host.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// Returns an error text if `payload` is above the limit.
std::optional<std::string> TooLarge(const OwnedPayload& payload, size_t most) {
  if (payload.bytes.size() <= most) return std::nullopt;
  return "the payload of a completion has " +
         std::to_string(payload.bytes.size()) + " bytes; the limit is " +
         std::to_string(most);
}

// The text of an error, which names the holder of a name if there is one.
OwnedPayload TextOf(const Status& error) {
  OwnedPayload text = OwnedPayload::Text(error.message());
  if (!error.holder().empty()) {
    text.content_type = detail::HolderType(error.holder());
  }
  return text;
}

}  // namespace

// A command that a handler carries out.
struct Harness::World::Call : actord_call {
  static Call& Of(actord_call* call) { return *static_cast<Call*>(call); }

  actord_completion completion = 0;
  bool deferred = false;
  std::optional<std::pair<Code, OwnedPayload>> reply;
};

const actord_call_api& Harness::World::CallApi() {
  static constexpr actord_call_api kApi = {
      .struct_size = sizeof(actord_call_api),
      .reserved = 0,
      .reply =
          [](actord_call* call, int32_t status, const actord_payload* payload) {
            Call::Of(call).reply.emplace(ToCode(status), CopyOf(payload));
          },
      .defer = [](actord_call* call) -> actord_completion {
        Call::Of(call).deferred = true;
        return Call::Of(call).completion;
      }};
  return kApi;
}

Harness::World::World(const actord_plugin_info& of, const HarnessOptions& with)
    : plugin(of),
      options(with),
      now_ns(static_cast<uint64_t>(with.start.time_since_epoch().count())),
      random(with.seed),
      host_(std::make_unique<Host>(*this)) {
  if (options.max_turns == 0) Break("max_turns is 0; it must be 1 or more");
  for (size_t i = 0; i < plugin.process_type_count; ++i) {
    const actord_process_type& type = *plugin.process_types[i];
    if (const auto why = rules::WhyNotDurable(type); !why.empty()) {
      Break("process type " + std::string(type.name) + " " + std::string(why));
    }
  }
  // The daemon's built-in commands, except file.read: a test has no configured
  // directories.
  AddHandler(kCommandHandler<handlers::TimerSleep>);
  AddHandler(kCommandHandler<handlers::ProcessSpawn>);
  AddHandler(kCommandHandler<handlers::ProcessSend>);
  AddHandler(kCommandHandler<handlers::ProcessCancel>);
  AddHandler(kCommandHandler<handlers::ProcessTerminate>);
  AddHandler(kCommandHandler<handlers::LogWrite>);
  AddHandler(kCommandHandler<handlers::NameRegister>);
  AddHandler(kCommandHandler<handlers::NameRelease>);
  AddHandler(kCommandHandler<handlers::NameLookup>);
  AddHandler(kCommandHandler<handlers::GroupJoin>);
  AddHandler(kCommandHandler<handlers::GroupLeave>);
  AddHandler(kCommandHandler<handlers::GroupMembers>);
  AddHandler(kCommandHandler<handlers::GroupSend>);
  for (size_t i = 0; i < plugin.command_count; ++i) {
    AddHandler(*plugin.commands[i]);
  }
}

Harness::World::~World() {
  while (!living.empty()) {
    End(*living.begin()->second, EndKind::kTerminated,
        Status(Code::kAborted, "the harness ends"), {});
  }
  for (const auto& [type, state] : lost_states_) {
    CloseObject(*type, state.get());
  }
  for (; !handlers_.empty(); handlers_.pop_back()) {
    const Handler& handler = handlers_.back();
    if (handler.descriptor->destroy == nullptr) continue;
    try {
      handler.descriptor->destroy(handler.self);
    } catch (...) {
      std::fprintf(stderr, "actord::testing: %s\n",
                   detail::DescribeException("destroy").c_str());
    }
  }
}

void Harness::World::AddHandler(const actord_command_handler& descriptor) {
  Handler handler{&descriptor, nullptr};
  if (descriptor.create != nullptr) {
    const int32_t status = descriptor.create(host_.get(), &handler.self);
    if (status != ACTORD_OK) {
      Break("the handler of " + std::string(descriptor.command) +
            " refused to start with " + std::string(CodeName(ToCode(status))));
    }
  }
  handlers_.push_back(handler);
}

const Harness::World::Handler* Harness::World::FindHandler(
    std::string_view command) const {
  for (const Handler& handler : handlers_) {
    if (command == handler.descriptor->command) return &handler;
  }
  return nullptr;
}

actord_completion Harness::World::Open(Record& record, Effect& yield) {
  const actord_completion completion = next_completion_++;
  const auto given = static_cast<uint64_t>(options.yield_timeout.count());
  const uint64_t timeout = rules::TimeoutOf(yield.timeout_ns, given);
  HeldYield what{record.pid,    yield.tag,    yield.name,
                 yield.payload, std::nullopt, yield.policy};
  if (timeout != 0 && timeout <= INT64_MAX - now_ns) {
    what.deadline = Time(Duration(static_cast<int64_t>(now_ns + timeout)));
    AddTimer(completion, now_ns + timeout, /*is_result=*/false);
  }
  Note(std::string(record.type_name()) + " " + FormatPid(record.pid) +
       (yield.kind == Effect::Kind::kCall ? " calls " : " yields ") +
       what.command);
  record.yields.emplace(what.tag, completion);
  outstanding.emplace(completion, Outstanding{std::move(what), false, {}});
  return completion;
}

void Harness::World::Dispatch(Record& record, Effect yield) {
  const actord_completion completion = Open(record, yield);
  Outstanding& added = outstanding.at(completion);
  const auto stub = stubs.find(added.yield.command);
  if (stub != stubs.end()) {
    // Copies the yield, because the test's function may end it.
    const HeldYield asked = added.yield;
    const Result<> answer = stub->second(asked);
    Complete(completion, answer.status().code(),
             answer.ok() ? *answer : TextOf(answer.status()));
    return;
  }
  const Handler* const handler = FindHandler(added.yield.command);
  added.held = handler == nullptr ||
               held_commands.find(added.yield.command) != held_commands.end();
  if (!added.held) Carry(*handler, completion);
}

void Harness::World::Carry(const Handler& handler,
                           actord_completion completion) {
  const HeldYield yield = outstanding.at(completion).yield;
  Call call{{&CallApi(), yield.pid, yield.tag, detail::ToAbi(yield.command),
             yield.payload.view().ToAbi()},
            completion,
            false,
            std::nullopt};
  int32_t answer = ACTORD_HANDLED;
  std::string error;
  try {
    answer = handler.descriptor->handle(handler.self, &call);
  } catch (...) {
    error = detail::DescribeException("the handler");
  }
  const rules::Handled handled = rules::HandledAs(answer, call.deferred);
  if (error.empty() && handled == rules::Handled::kDeferred) return;
  if (error.empty() && handled == rules::Handled::kWrongly) {
    error = "the handler of " + yield.command + " returned " +
            std::to_string(answer) +
            (call.deferred ? "" : " without a deferral");
  }
  if (!error.empty()) {
    Complete(completion, Code::kInternal, OwnedPayload::Text(std::move(error)));
  } else if (call.reply) {
    Complete(completion, call.reply->first, std::move(call.reply->second));
  } else {
    Complete(completion, Code::kOk, {});
  }
}

bool Harness::World::Complete(actord_completion completion, Code code,
                              OwnedPayload payload) {
  const auto found = outstanding.find(completion);
  if (found == outstanding.end()) return false;
  const HeldYield yield = std::move(found->second.yield);
  outstanding.erase(found);
  Record& record = *Find(yield.pid);
  record.yields.erase(yield.tag);
  if (auto error = TooLarge(payload, options.max_payload_bytes)) {
    code = Code::kInvalidArgument;
    payload = OwnedPayload::Text(*std::move(error));
  }
  Note(yield.command + " of " + FormatPid(yield.pid) + " completes with " +
       std::string(CodeName(code)));
  record.urgent.push_back(
      {ACTORD_EVENT_COMPLETION, code, yield.tag, {}, {}, std::move(payload)});
  return true;
}

bool Harness::World::CompleteHeld(const HeldYield& yield, Code code,
                                  OwnedPayload payload) {
  const Record* const record = Find(yield.pid);
  if (record == nullptr) return false;
  const auto found = record->yields.find(yield.tag);
  return found != record->yields.end() &&
         Complete(found->second, code, std::move(payload));
}

void Harness::World::DropYields(Record& record) {
  for (const auto& [tag, completion] : record.yields) {
    outstanding.erase(completion);
  }
  record.yields.clear();
}

void Harness::World::AddTimer(actord_completion completion,
                              uint64_t deadline_ns, bool is_result) {
  timers_.emplace(deadline_ns, Timer{completion, is_result});
}

void Harness::World::FireTimersAt(uint64_t now) {
  const auto end = timers_.upper_bound(now);
  std::vector<Timer> due;
  for (auto it = timers_.begin(); it != end; ++it) due.push_back(it->second);
  timers_.erase(timers_.begin(), end);
  // Timers that are due at the same time fire in random order.
  for (size_t i = due.size(); i > 1; --i) {
    std::swap(due[i - 1], due[random() % i]);
  }
  for (const Timer& timer : due) {
    if (timer.is_result) {
      Complete(timer.completion, Code::kOk, {});
    } else {
      Complete(timer.completion, Code::kDeadlineExceeded,
               OwnedPayload::Text("timed out"));
    }
  }
}

void Harness::World::AnswerSpawn(Record& child) {
  const actord_completion completion = std::exchange(child.admitted, 0);
  const auto found = outstanding.find(completion);
  const bool is_tied = child.admitted_link || child.admitted_monitor;
  if (found == outstanding.end()) {
    if (is_tied) {
      Control(child.pid, kTerminate, "its parent will never hear of it");
    }
    return;
  }
  const HeldYield& yield = found->second.yield;
  Record& parent = *Find(yield.pid);
  if (child.admitted_link) Link(child, parent.pid);
  if (child.admitted_monitor) Monitor(parent, yield.tag, child.pid);
  Complete(completion, Code::kOk, OwnedPayload::Text(FormatPid(child.pid)));
}

Code Harness::World::Control(const Pid& to, uint32_t type,
                             std::string_view reason) {
  Record* const record = Find(to);
  if (record == nullptr || record->phase == Record::Phase::kProbe) {
    return Code::kNotFound;
  }
  if (record->phase == Record::Phase::kEnded) return Code::kFailedPrecondition;
  OwnedEvent event;
  event.type = type;
  event.payload =
      OwnedPayload::Text(std::string(CutUtf8(reason, kMaxReasonBytes)));
  record->urgent.push_back(std::move(event));
  return Code::kOk;
}

Status Harness::World::CheckSpawn(const actord_spawn& spawn,
                                  const actord_process_type* type,
                                  uint32_t method) const {
  if (type == nullptr) {
    return {Code::kNotFound, "no plugin has the process type \"" +
                                 std::string(detail::View(spawn.process_type)) +
                                 "\""};
  }
  if (method == rules::kNoSuchMethod) {
    return {Code::kNotFound,
            "process type " + std::string(type->name) + " has no such method"};
  }
  if (!Fits(spawn.input, {})) {
    return {Code::kInvalidArgument,
            "input has " + std::to_string(spawn.input.bytes.size) +
                " bytes; the limit is " +
                std::to_string(options.max_payload_bytes) +
                ", and 1024 for its content type"};
  }
  const int priority = rules::PriorityOf(spawn);
  if (!rules::IsPriority(priority)) {
    return {Code::kInvalidArgument, "priority is " + std::to_string(priority) +
                                        "; it must be from 0 (lowest) to 31"};
  }
  if (!IsRoom()) {
    return {Code::kResourceExhausted, "the limit of processes is reached"};
  }
  const std::string_view name = rules::NameOf(spawn);
  if (name.empty()) return Status::Ok();
  if (!IsName(name)) {
    return {Code::kInvalidArgument, "a name is " + std::string(kNameRule)};
  }
  if (const Pid holder = HolderOf(name); !holder.empty()) {
    return {Code::kAlreadyExists,
            "the name " + std::string(name) + " is held by process " +
                FormatPid(holder),
            holder};
  }
  return Status::Ok();
}

void Harness::World::SpawnFor(const Pid& parent, const actord_spawn& spawn,
                              actord_completion completion) {
  const actord_process_type* const type =
      FindType(detail::View(spawn.process_type));
  const uint32_t method =
      type == nullptr ? rules::kNoSuchMethod
                      : rules::FindMethod(*type, detail::View(spawn.method));
  const Status checked = CheckSpawn(spawn, type, method);
  if (!checked.ok()) {
    Complete(completion, checked.code(), TextOf(checked));
    return;
  }
  Record& child = NewRecord(parent);
  child.type = type;
  child.method = method;
  child.priority = rules::PriorityOf(spawn);
  child.is_volatile = (spawn.flags & ACTORD_SPAWN_VOLATILE) != 0;
  child.input = OwnedPayload(Payload(spawn.input));
  child.admitted = completion;
  child.admitted_link = (spawn.flags & ACTORD_SPAWN_LINK) != 0;
  child.admitted_monitor = (spawn.flags & ACTORD_SPAWN_MONITOR) != 0;
  if (const std::string_view name = rules::NameOf(spawn); !name.empty()) {
    names.emplace(name, child.pid);
  }
  child.phase = Record::Phase::kStarting;
}

}  // namespace actord::testing
