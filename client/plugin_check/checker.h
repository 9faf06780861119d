// The child process of a check that runs code of plugins.
//
// Thread-safety: pure functions of a child process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/plugin_check/daemon_limits.h"
#include "client/plugin_check/frames.h"
#include "runtime/records/records.h"

namespace actord::client {

// Answers with the description of the plugin, and returns.
void DescribePlugin(const std::string& path, FrameSocket& socket);

struct CheckOrder {
  std::string file;   // path of the plugin file that is checked
  std::string store;  // directory of the store
  std::vector<runtime::records::Plugin> plugins;  // of the store
  uint64_t incarnation = 0;
  uint64_t store_ns = 0;
  DaemonLimits limits;
};
// Answers once when the plugins are loaded. Then answers each SentContent with
// the result of its trial, until the other side ends.
void CheckProcesses(const CheckOrder& order, FrameSocket& socket);

}  // namespace actord::client
