// Shows the results of a check of a plugin.
//
// Thread-safety: not thread-safe. Ownership: borrows the invocation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/cli/invocation.h"
#include "client/output/output.h"
#include "client/output/progress.h"
#include "client/plugin_check/plugin_check.h"

namespace actord::client {

class CheckOutput {
 public:
  // `limit`: in output for people, at most this number of processes that are
  // not fine are shown, after the table of types. Nullopt: all of them are
  // shown, before the table.
  CheckOutput(Invocation& invocation, std::optional<uint64_t> limit);

  // Call Begin, then Add for each process, then End.
  void Begin(const PluginCheck& check);
  void Add(CheckedProcess&& process);
  void End(const PluginCheck& check);
  // Removes the line of the progress. For use before an error is printed.
  void Clear() { progress_.Clear(); }

 private:
  void BeginForPeople(const PluginCheck& check);
  void EndForPeople(const PluginCheck& check);
  void WriteTypes(const PluginCheck& check);
  void ShowProgress();

  Invocation& invocation_;
  const std::optional<uint64_t> limit_;
  ListWriter items_;  // for programs
  ListWriter rows_;   // for people: the processes that are not fine
  Progress progress_;
  uint64_t shown_ = 0;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  uint64_t not_fine_ = 0;
};

}  // namespace actord::client
