// The child process of a check that runs code of plugins.
//
// Thread-safety: pure functions of a child process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/plugin_check/frames.h"
#include "runtime/records/records.h"

namespace actord::client {

// Answers with the description of the plugin, and returns.
void DescribePlugin(const std::string& path, FrameSocket& socket);

struct CheckOrder {
  std::string file;   // of the plugin that is checked
  std::string store;  // directory
  std::vector<runtime::records::Plugin> plugins;  // of the store
  uint64_t incarnation = 0;
  uint64_t store_ns = 0;
};
// Answers once when it is ready, and then each SentContent that comes with the
// result of its trial, until the other side ends.
void CheckProcesses(const CheckOrder& order, FrameSocket& socket);

}  // namespace actord::client
