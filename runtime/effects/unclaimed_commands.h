// The outstanding commands of the store that nobody carries out in this start:
// they have no handler, and no external pattern matches them. Such yields wait
// (effects/durable_yields.h).
//
// Thread-safety: one thread, while the runtime recovers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/catalog.h"
#include "runtime/records/runtime_image.h"
#include "runtime/settings/options.h"
#include "runtime/tasks/task_table.h"

namespace actord::runtime {

class UnclaimedCommands {
 public:
  // Both are borrowed.
  UnclaimedCommands(const Catalog& catalog, const TaskTable& tasks)
      : catalog_(catalog), tasks_(tasks) {}

  // Counts the yields of a process.
  void Count(const std::vector<records::YieldImage>& yields);
  // Logs a line for each command, and one for the commands above kMaxNamed.
  void Warn(const LogSink& log) const;

 private:
  static constexpr size_t kMaxNamed = 20;

  const Catalog& catalog_;
  const TaskTable& tasks_;
  std::map<std::string, uint64_t> yields_;  // at most kMaxNamed commands
  uint64_t other_yields_ = 0;
};

}  // namespace actord::runtime
