#include "runtime/log/process_log.h"

#include <atomic>
#include <optional>

#include "absl/strings/str_cat.h"
#include "handlers/rules/log_text.h"
#include "runtime/process/catalog.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

bool IsNamed(const Process& process) {
  return (process.wanted.load(std::memory_order_relaxed) & Wanted::kNamed) != 0;
}

}  // namespace

bool ProcessLog::Has(int32_t level) const {
  return options_.has_level == nullptr ||
         options_.has_level(static_cast<LogLevel>(level));
}

void ProcessLog::Apply(LogEffect&& effect, Process& process, const Pid& self,
                       Lane& lane) {
  Envelope* const content = effect.content.TakeLast();
  if (Has(effect.level)) {
    Write(effect.level, LineOf(process, self, View(content->payload().bytes)));
  }
  lane.Free(content);
}

ProcessLog::Line ProcessLog::LineOf(const Pid& pid, const ProcessType* type,
                                    bool is_named,
                                    std::string_view text) const {
  Line line{.pid = pid};
  line.text = absl::StrCat("process ", FormatPid(pid));
  if (type != nullptr) {
    line.type = type->name;
    if (is_named) line.name = names_.NameOf(pid).value_or(std::string());
    absl::StrAppend(&line.text, " (", line.type, line.name.empty() ? "" : " @",
                    line.name, ")");
  }
  absl::StrAppend(&line.text, ": ", ToAbsl(text));
  return line;
}

ProcessLog::Line ProcessLog::LineOf(const Process& process, const Pid& self,
                                    std::string_view text) const {
  return LineOf(self, process.type.load(std::memory_order_relaxed),
                IsNamed(process), text);
}

void ProcessLog::Write(int32_t level, const Line& line) const {
  options_.log(static_cast<LogLevel>(rules::LogLevelOf(level)), line.text,
               line.subject());
}

void ProcessLog::Write(int32_t level, std::string_view line) const {
  options_.log(static_cast<LogLevel>(rules::LogLevelOf(level)), line);
}

void ProcessLog::WriteFor(int32_t level, const Pid& pid,
                          std::string_view text) const {
  level = rules::LogLevelOf(level);
  if (!Has(level)) return;
  const ProcessType* type = nullptr;
  bool is_named = false;
  if (const FoundProcess found = processes_.FindAwake(pid)) {
    type = found->type.load(std::memory_order_acquire);
    is_named = IsNamed(*found);
    // Otherwise the type may be that of the next process in the slot.
    if (!found.IsStill()) type = nullptr;
  }
  std::string shortened;
  Write(level, LineOf(pid, type, is_named, rules::LogText(text, shortened)));
}

}  // namespace actord::runtime
