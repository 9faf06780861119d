// A process type and a command handler that follow the bytes of a fuzzed input:
// every function of the ABI, with sizes that lie, tags and PIDs that mean
// nothing, and null pointers where the ABI allows them.
//
// Only sizes of payloads, topics, commands and content types lie, and they are
// above their limit, so the daemon must refuse it without reading it. Only one
// byte is there.
//
// Thread-safety: one thread. One input at a time.
#pragma once

#include <actord/abi.h>

#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"

namespace actord::fuzz {

// What the processes and the handler of one input share.
struct HostilePlugin {
  explicit HostilePlugin(Input bytes) : input(bytes) {}

  Input input;
  const actord_host* host = nullptr;  // set once the runtime exists
  std::vector<actord_pid> pids;       // all that somebody has seen
  std::vector<uint64_t> tags;
  std::vector<uint64_t> calls;
  std::vector<actord_completion> completions;
  // The items of the step under way.
  std::span<const actord_event* const> events;
};

inline constexpr size_t kHostilePayloadLimit = 4096;

// The plugin of the input under way.
void SetHostilePlugin(HostilePlugin* plugin);

// "hostile", "hostile.cancellable" and "hostile.trapping", which can also be
// upgraded.
extern const actord_process_type kHostileTypes[3];
// "hostile.command", inline.
extern const actord_command_handler kHostileCommand;

// Calls one function of the host, from outside a step.
void CallHost();
// Calls one function that a process may call during a step.
void CallStep(actord_step* step);

}  // namespace actord::fuzz
