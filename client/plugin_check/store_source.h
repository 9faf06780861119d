// The child process of a check that reads the store. While it runs it holds the
// lock of the store. It changes nothing in the store.
//
// Thread-safety: a function of a child process.
#pragma once

#include <string>
#include <vector>

#include "client/plugin_check/frames.h"
#include "client/plugin_check/messages.h"

namespace actord::client {

struct StoreOrder {
  std::string directory;
  // Processes of two kinds are wanted: those of this plugin's types, and those
  // of types that the store has from a plugin of the same name.
  PluginDescription plugin;
};

// Sends a StoreHead, each wanted process and the end. Sends the findings
// instead of the end if the store is damaged, and any error.
void SendProcesses(const StoreOrder& order, FrameSocket& socket);

// The types in the store whose processes are wanted.
std::vector<std::string> WantedTypes(const StoreHead& head,
                                     const PluginDescription& plugin);

}  // namespace actord::client
