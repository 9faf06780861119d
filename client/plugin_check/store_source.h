// The child process of a check that reads the store. It locks the store as long
// as it runs, and changes nothing in it.
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
  // The processes that are wanted: of the types of this plugin, and of all
  // types that the store has from a plugin of its name.
  PluginDescription plugin;
};

// Sends a StoreHead, each process that is wanted, and the end; or an error, or
// what is damaged.
void SendProcesses(const StoreOrder& order, FrameSocket& socket);

// The types whose processes are wanted, of those in the store.
std::vector<std::string> WantedTypes(const StoreHead& head,
                                     const PluginDescription& plugin);

}  // namespace actord::client
