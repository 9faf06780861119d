#include <actord/testing.h>
#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <utility>

#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// Opens the shared object at `path` and never closes it, so that pointers into
// it that a test still holds stay valid.
const actord_plugin_info& Open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw ExpectationFailed(dlerror());
  const void* const symbol = dlsym(library, ACTORD_PLUGIN_SYMBOL);
  const auto* const info = static_cast<const actord_plugin_info*>(symbol);
  if (info == nullptr || info->magic != ACTORD_ABI_MAGIC) {
    throw ExpectationFailed(std::string(path) + " is not an actord plugin");
  }
  return *info;
}

const actord_plugin_info& Check(const actord_plugin_info& plugin) {
  if (plugin.abi_version != ACTORD_ABI_VERSION) {
    throw ExpectationFailed("the plugin was built for version " +
                            std::to_string(plugin.abi_version) +
                            " of the ABI; this is version " +
                            std::to_string(ACTORD_ABI_VERSION));
  }
  return plugin;
}

std::string Describe(const Status& status) {
  return std::string(CodeName(status.code())) + ": " + status.message();
}

}  // namespace

Harness::Harness(const actord_plugin_info& plugin,
                 const HarnessOptions& options)
    : world_(std::make_unique<World>(Check(plugin), options)) {}

Harness::Harness(const char* path, const HarnessOptions& options)
    : Harness(Open(path), options) {}

Harness::~Harness() = default;

Pid Harness::Submit(std::string_view type, std::string_view method,
                    const OwnedPayload& input) {
  Record& record = world_->Start(type, method, input);
  if (!world_->Admit(record)) {
    world_->Break(std::string(type) +
                  " refused to start: " + Describe(record.outcome->status));
  }
  return record.pid;
}

std::string Harness::ExpectRefused(Code code, std::string_view type,
                                   std::string_view method,
                                   const OwnedPayload& input) {
  Record& record = world_->Start(type, method, input);
  if (world_->Admit(record)) {
    world_->Break(std::string(type) +
                  " has started; expected that Init refuses");
  }
  const Status& why = record.outcome->status;
  if (why.code() != code) {
    world_->Break(std::string(type) + " refused with " + Describe(why) +
                  ", not with " + std::string(CodeName(code)));
  }
  return why.message();
}

void Harness::Deliver(const Pid& to, std::string_view topic,
                      const OwnedPayload& payload, const Pid& from) {
  world_->LiveOrBreak(to);
  world_->DeliverMessage(to, {ACTORD_EVENT_MESSAGE, Code::kOk, 0, from,
                              std::string(topic), payload, 0, 0});
}

void Harness::Cancel(const Pid& pid, std::string_view reason) {
  world_->LiveOrBreak(pid).urgent.push_back(
      {ACTORD_EVENT_CANCEL,
       Code::kOk,
       0,
       {},
       {},
       OwnedPayload::Text(std::string(reason)),
       0,
       0});
}

void Harness::Terminate(const Pid& pid, std::string_view reason) {
  world_->End(world_->LiveOrBreak(pid), EndKind::kTerminated,
              Status(Code::kAborted, std::string(reason)), {});
}

Pid Harness::Probe() {
  Record& record = world_->NewRecord({});
  record.phase = Record::Phase::kProbe;
  world_->living.erase(record.pid.slot);
  return record.pid;
}

void Harness::CrashEverywhere(const CrashOptions& options) {
  world_->CrashEverywhere(options);
}

bool Harness::RunOne() { return world_->RunOne(); }
size_t Harness::Run() { return world_->Run(); }

void Harness::Advance(Duration duration) {
  if (duration.count() < 0) {
    world_->Break("the duration is negative; it must be 0 or more");
  }
  world_->Advance(static_cast<uint64_t>(duration.count()));
}

Time Harness::now() const {
  return Time(Duration(static_cast<int64_t>(world_->now_ns)));
}

void Harness::Hold(std::string_view command) {
  world_->stubs.erase(std::string(command));
  world_->held_commands.insert(std::string(command));
}

void Harness::Stub(std::string_view command, Stubbed answer) {
  world_->stubs.insert_or_assign(std::string(command), std::move(answer));
}

std::vector<HeldYield> Harness::Held(std::string_view command) const {
  std::vector<HeldYield> held;
  for (const auto& [completion, outstanding] : world_->outstanding) {
    if (outstanding.held &&
        (command.empty() || command == outstanding.yield.command)) {
      held.push_back(outstanding.yield);
    }
  }
  return held;
}

HeldYield Harness::ExpectHeld(std::string_view command) {
  Run();
  std::vector<HeldYield> held = Held(command);
  if (!held.empty()) return std::move(held.front());
  std::string others;
  for (const HeldYield& yield : Held()) others += " " + yield.command;
  world_->Break("no process waits for the command " + std::string(command) +
                (others.empty() ? "" : "; processes wait for:" + others));
}

bool Harness::Complete(const HeldYield& yield, const OwnedPayload& result) {
  return world_->CompleteHeld(yield, Code::kOk, result);
}

bool Harness::Fail(const HeldYield& yield, Code code,
                   std::string_view message) {
  if (code == Code::kOk) {
    world_->Break("OK is not a failure; give the code of an error");
  }
  return world_->CompleteHeld(yield, code,
                              OwnedPayload::Text(std::string(message)));
}

void Harness::CompleteNext(std::string_view command,
                           const OwnedPayload& result) {
  Complete(ExpectHeld(command), result);
}

void Harness::FailNext(std::string_view command, Code code,
                       std::string_view message) {
  Fail(ExpectHeld(command), code, message);
}

bool Harness::IsLive(const Pid& pid) const {
  const Record* const record = world_->Find(pid);
  return record != nullptr && record->IsLive();
}

std::vector<Pid> Harness::Live(std::string_view type) const {
  std::vector<Pid> live;
  for (const auto& [slot, record] : world_->living) {
    if (record->IsLive() && (type.empty() || type == record->type_name())) {
      live.push_back(record->pid);
    }
  }
  return live;
}

std::optional<Outcome> Harness::OutcomeOf(const Pid& pid) const {
  const Record* const record = world_->Find(pid);
  if (record == nullptr) {
    world_->Break("there never was a process " + World::FormatPid(pid));
  }
  return record->outcome;
}

Outcome Harness::ExpectEnded(const Pid& pid) {
  Run();
  std::optional<Outcome> outcome = OutcomeOf(pid);
  if (!outcome) {
    world_->Break("process " + World::FormatPid(pid) +
                  " has not ended; it is " + world_->WaitOf(pid));
  }
  return *std::move(outcome);
}

OwnedPayload Harness::ExpectResult(const Pid& pid) {
  Outcome outcome = ExpectEnded(pid);
  if (outcome.kind != EndKind::kResult) {
    world_->Break("process " + World::FormatPid(pid) +
                  " has ended without a result: " + Describe(outcome.status));
  }
  return std::move(outcome.result);
}

std::string Harness::ExpectFailed(const Pid& pid, Code code) {
  Outcome outcome = ExpectEnded(pid);
  if (outcome.kind == EndKind::kResult) {
    world_->Break("process " + World::FormatPid(pid) +
                  " has ended with the result '" + outcome.result.bytes + "'");
  }
  if (outcome.status.code() != code) {
    world_->Break("process " + World::FormatPid(pid) + " has failed with " +
                  Describe(outcome.status) + ", not with " +
                  std::string(CodeName(code)));
  }
  return outcome.status.message();
}

Received Harness::ExpectMessage(const Pid& probe, std::string_view topic) {
  Run();
  Record& record = world_->ProbeOrBreak(probe);
  if (record.messages.empty()) {
    world_->Break("there is no message '" + std::string(topic) +
                  "' at the probe");
  }
  OwnedEvent message = std::move(record.messages.front());
  record.messages.pop_front();
  if (message.topic != topic) {
    world_->Break("the next message at the probe is '" + message.topic +
                  "', not '" + std::string(topic) + "'");
  }
  return {message.from, std::move(message.topic), std::move(message.payload),
          message.call};
}

Published Harness::ExpectPublished(std::string_view topic) {
  Run();
  auto& published = world_->published;
  const auto found =
      std::find_if(published.begin(), published.end(),
                   [&](const Published& one) { return one.topic == topic; });
  if (found == published.end()) {
    world_->Break("nothing is published under '" + std::string(topic) + "'");
  }
  Published taken = std::move(*found);
  published.erase(found);
  return taken;
}

std::vector<Published> Harness::TakePublished() {
  const auto taken = std::exchange(world_->published, {});
  return {taken.begin(), taken.end()};
}

Result<> Harness::Call(const Pid& to, std::string_view topic,
                       const OwnedPayload& payload) {
  // A probe makes the call. The completion of the probe's yield is the answer.
  Record& asks = *world_->Find(Probe());
  Effect call;
  call.kind = Effect::Kind::kCall;
  call.to = to;
  call.tag = asks.next_tag++;
  call.name = topic;
  call.payload = payload;
  const actord_completion completion = world_->Open(asks, call);
  world_->BeginCall({}, completion, std::move(call));
  Run();
  if (asks.urgent.empty()) {
    world_->Break("process " + World::FormatPid(to) + " has not answered '" +
                  std::string(topic) + "'");
  }
  OwnedEvent answer = std::move(asks.urgent.front());
  asks.urgent.pop_front();
  if (answer.status != Code::kOk) {
    return Status(answer.status, answer.payload.bytes);
  }
  return std::move(answer.payload);
}

bool Harness::Reply(const Received& message, const OwnedPayload& answer) {
  const bool open = world_->outstanding.count(message.call) != 0;
  world_->Reply(message.call, Code::kOk, answer);
  return open;
}

Pid Harness::HolderOf(std::string_view name) const {
  return world_->HolderOf(name);
}

size_t Harness::MessagesAt(const Pid& probe) const {
  return world_->ProbeOrBreak(probe).messages.size();
}

size_t Harness::dead_letters() const { return world_->dead_letters; }
const std::vector<LogLine>& Harness::log() const { return world_->log; }
std::string Harness::Trace() const { return world_->Trace(); }

}  // namespace actord::testing
