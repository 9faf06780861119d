#include "handlers/testing/world.h"

#include <actord/pid_text.h>
#include <actord/plugin.h>
#include <actord/text.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "handlers/rules/process_rules.h"
#include "handlers/schedule/schedule.h"
#include "handlers/supervisor/supervisor.h"
#include "handlers/testing/step.h"

namespace actord::testing {
namespace {

std::string Quote(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string quoted = "'" + std::string(CutUtf8(text, kMost));
  return quoted + (text.size() > kMost ? "…'" : "'");
}

const char* NameOf(EndKind kind) {
  switch (kind) {
    case EndKind::kResult:
      return "result";
    case EndKind::kFailed:
      return "failed";
    case EndKind::kThrew:
      return "threw";
    case EndKind::kInitRefused:
      return "refused to start";
    case EndKind::kCancelled:
      return "cancelled";
    case EndKind::kTerminated:
      return "terminated";
  }
  return "?";
}

}  // namespace

const actord_process_type* Harness::World::FindType(
    std::string_view name) const {
  // The built-in types of the daemon.
  for (const actord_process_type* const type :
       {&kProcessType<handlers::Schedule>,
        &kProcessType<handlers::Supervisor>}) {
    if (name == type->name) return type;
  }
  for (size_t i = 0; i < plugin.process_type_count; ++i) {
    if (name == plugin.process_types[i]->name) return plugin.process_types[i];
  }
  return nullptr;
}

Record& Harness::World::NewRecord(const Pid& parent) {
  Record& record = *records.emplace_back(std::make_unique<Record>());
  record.pid = actord_pid{1, 1, static_cast<uint32_t>(records.size()), 1};
  record.parent = parent;
  living.emplace(record.pid.slot, &record);
  return record;
}

Record* Harness::World::Find(const Pid& pid) {
  const bool is_one = pid.node == 1 && pid.incarnation == 1 &&
                      pid.generation == 1 && pid.slot != 0 &&
                      pid.slot <= records.size();
  return is_one ? records[pid.slot - 1].get() : nullptr;
}

Record& Harness::World::Start(std::string_view type, std::string_view method,
                              const OwnedPayload& input) {
  const actord_process_type* const found = FindType(type);
  if (found == nullptr) {
    Break("the plugin has no process type " + Quote(type));
  }
  const uint32_t index = rules::FindMethod(*found, method);
  if (index == rules::kNoSuchMethod) {
    Break(std::string(type) + " has no method " + Quote(method));
  }
  if (!IsRoom()) Break("the limit of processes is reached");
  Record& record = NewRecord({});
  record.type = found;
  record.method = index;
  record.input = input;
  return record;
}

Record& Harness::World::LiveOrBreak(const Pid& pid) {
  Record* const record = Find(pid);
  if (record == nullptr) Break("there is no process " + FormatPid(pid));
  if (!record->IsLive()) {
    Break("process " + FormatPid(pid) + " is not alive");
  }
  return *record;
}

Record& Harness::World::ProbeOrBreak(const Pid& pid) {
  Record* const record = Find(pid);
  if (record == nullptr || record->phase != Record::Phase::kProbe) {
    Break(FormatPid(pid) + " is no probe");
  }
  return *record;
}

std::string Harness::World::WaitOf(const Pid& pid) {
  const Record& record = LiveOrBreak(pid);
  std::string waits = record.blocked ? "blocked" : "idle";
  for (const auto& [tag, completion] : record.yields) {
    waits += ", waits for " + outstanding.at(completion).yield.command;
  }
  return waits;
}

StateMemory Harness::World::NewState(const actord_process_type& type) {
  const auto alignment = std::align_val_t{
      std::max<size_t>(type.state_align, alignof(std::max_align_t))};
  const size_t bytes = std::max<size_t>(type.state_size, 1);
  StateMemory state = {
      static_cast<std::byte*>(::operator new(bytes, alignment)),
      Freed{alignment}};
  std::memset(state.get(), 0, bytes);
  return state;
}

bool Harness::World::Admit(Record& record) {
  record.phase = Record::Phase::kLive;
  if (record.type == nullptr || record.method == rules::kNoSuchMethod) {
    End(record, EndKind::kInitRefused,
        Status(Code::kNotFound, record.type == nullptr
                                    ? "the process type is unknown"
                                    : "the process type has no such method"),
        {});
    return false;
  }
  const actord_process_type& type = *record.type;
  record.state = NewState(type);
  const actord_init init = {sizeof(actord_init), record.method,
                            record.input.view().ToAbi()};
  StepCall call(*this, record, "init");
  Beginning beginning{{}, record.method, record.input, std::nullopt};
  call.Keep(beginning.answers);
  std::string thrown;
  int32_t status = ACTORD_INTERNAL;
  try {
    status = type.init(record.state.get(), &init, &call);
  } catch (...) {
    thrown = detail::DescribeException("Init");
  }
  const rules::PluginCallEnd end =
      rules::PluginCallEndOf(!thrown.empty(), !call.misuse.ok(), status);
  if (end == rules::PluginCallEnd::kOk) {
    record.step_due = true;
    if (std::optional<Status> why = Begun(record, std::move(beginning))) {
      End(record, EndKind::kInitRefused, *std::move(why), {});
      return false;
    }
    Note(std::string(type.name) + " " + FormatPid(record.pid) + " starts");
    return true;
  }
  // Init has failed, so there is no state to close.
  record.state.reset();
  std::string why = std::move(call.failure);
  if (end == rules::PluginCallEnd::kThrew) {
    why = std::move(thrown);
  } else if (end == rules::PluginCallEnd::kBrokeRule) {
    why = call.misuse.message();
  }
  End(record, EndKind::kInitRefused,
      Status(ToCode(rules::CodeOfFailedInit(end, status)), std::move(why)), {});
  return false;
}

bool Harness::World::DeliverMessage(const Pid& to, OwnedEvent message) {
  Record* const record = Find(to);
  if (record == nullptr || record->phase == Record::Phase::kEnded) {
    ++dead_letters;
    Note("a message " + Quote(message.topic) + " to " + FormatPid(to) +
         " is a dead letter");
    return false;
  }
  record->messages.push_back(std::move(message));
  return true;
}

void Harness::World::CloseState(Record& record) {
  if (record.state == nullptr) return;
  CloseObject(*record.type, record.state.get());
  record.state.reset();
}

void Harness::World::CloseObject(const actord_process_type& type, void* state) {
  try {
    type.close(state);
  } catch (...) {
    log.push_back({LogLevel::kError, std::string("process type ") + type.name +
                                         ": " +
                                         detail::DescribeException("Close")});
  }
}

void Harness::World::End(Record& record, EndKind kind, Status status,
                         OwnedPayload result) {
  CloseState(record);
  CloseShadow(record);
  DropYields(record);
  if (const actord_completion admitted = std::exchange(record.admitted, 0)) {
    Complete(admitted, status.code(), OwnedPayload::Text(status.message()));
  }
  Note(std::string(record.type_name()) + " " + FormatPid(record.pid) +
       " ends: " + NameOf(kind) + " " +
       Quote(kind == EndKind::kResult ? result.bytes : status.message()));
  record.phase = Record::Phase::kEnded;
  living.erase(record.pid.slot);
  record.outcome =
      Outcome{kind, std::move(result), std::move(status), record.steps};
  for (const OwnedEvent& message : record.messages) {
    dead_letters += message.type == ACTORD_EVENT_MESSAGE ? 1 : 0;
  }
  record.messages.clear();
  record.urgent.clear();
  TellTied(record);
}

void Harness::World::Break(const std::string& what) const {
  const std::string trace = Trace();
  throw ExpectationFailed(
      what + (trace.empty() ? "" : "\nWhat happened last:\n" + trace));
}

void Harness::World::Note(std::string line) {
  const auto since =
      now_ns - static_cast<uint64_t>(options.start.time_since_epoch().count());
  char ms[32];
  const auto end = std::to_chars(ms, ms + sizeof(ms), since / 1'000'000).ptr;
  trace_.push_back("  " + std::string(ms, end) + " ms: " + std::move(line));
  if (trace_.size() > kTraceLines) trace_.pop_front();
}

std::string Harness::World::Trace() const {
  std::string text;
  for (const std::string& line : trace_) text += line + "\n";
  return text;
}

std::string Harness::World::FormatPid(const Pid& pid) {
  char text[detail::kPidTextMaxBytes];
  return {text, detail::WritePid(pid, text)};
}

std::optional<Pid> Harness::World::ParsePid(std::string_view text) {
  const std::optional<actord_pid> pid = detail::ReadPid(text);
  return pid ? std::optional<Pid>(*pid) : std::nullopt;
}

bool Harness::World::Fits(const actord_payload& payload,
                          const actord_bytes& name) const {
  return rules::Fits(payload, name, options.max_payload_bytes);
}

}  // namespace actord::testing
