// The plugin code that a thread runs now, for the report of a crash.
//
// A thread that runs workers announces each call into a process or an inline
// handler in its Hold (hold.h). A LaneScope makes that announcement readable
// for a signal handler on the same thread, so a step costs nothing more. All
// other calls into plugins are rare, and each has a PluginScope on the stack.
//
// Thread-safety: a scope, and RunningCodeHere, concern the thread that calls.
// RunningCodeHere may be called in a signal handler. On a simulated thread
// (fail_point.h) scopes do nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/process/catalog.h"
#include "runtime/process/pid.h"
#include "runtime/scheduler/lane.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

// All texts are views of memory that lives as long as the scope or, for a call
// that Hold announces, as long as the runtime. A text is "" and the PID empty
// if they do not apply.
struct RunningCode {
  std::string_view plugin = {};
  std::string_view version = {};
  // The file of a plugin whose name is not known yet; then `plugin` is "".
  std::string_view file = {};
  // For example "Step".
  std::string_view function = {};
  // The command whose handler runs.
  std::string_view command = {};
  std::string_view process_type = {};
  Pid pid = {};
};

// Plugin code runs as long as the object lives. Scopes end in the reverse order
// of their beginning.
class PluginScope {
 public:
  explicit PluginScope(const RunningCode& code);
  ~PluginScope();
  PluginScope(const PluginScope&) = delete;
  PluginScope& operator=(const PluginScope&) = delete;

  [[nodiscard]] const RunningCode& code() const { return code_; }

 private:
  const RunningCode code_;
  const PluginScope* outer_ = nullptr;
};

// The thread acts with `lane` as long as the object lives. `processes`: for
// PIDs; borrowed.
class LaneScope {
 public:
  LaneScope(Lane& lane, const ProcessTable& processes);
  ~LaneScope();
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

  // The call that the lane's Hold announces; nullopt: no call is running.
  // `version`: see VersionScope; may be null.
  [[nodiscard]] std::optional<RunningCode> Code(
      const ProcessType* version) const;

 private:
  [[nodiscard]] Pid PidOf(const Process& process) const;

  Lane& lane_;
  const ProcessTable& processes_;
};

// As long as the object lives, calls into processes run code of `type`, which
// is not the type of their process: an upgrade calls the new version before the
// process has it.
class VersionScope {
 public:
  explicit VersionScope(const ProcessType& type);
  ~VersionScope();
  VersionScope(const VersionScope&) = delete;
  VersionScope& operator=(const VersionScope&) = delete;
};

// nullopt: the thread runs no plugin code.
[[nodiscard]] std::optional<RunningCode> RunningCodeHere();

}  // namespace actord::runtime
