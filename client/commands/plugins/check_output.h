// Shows what a check of a plugin finds.
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
  // `limit`: how many of the processes that are not fine a person is shown,
  // behind the table of types; nullopt: all of them, before it.
  CheckOutput(Invocation& invocation, std::optional<uint64_t> limit);

  // In this order.
  void Begin(const PluginCheck& check);
  void Add(CheckedProcess&& process);
  void End(const PluginCheck& check);
  // Removes the line of the progress, before an error.
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
