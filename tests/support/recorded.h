// The records of the fakes in the SDK's tests: owned copies of the ABI's
// borrowed data.
//
// Thread-safety: plain values.
#pragma once

#include <actord/abi.h>
#include <actord/owned.h>
#include <actord/values.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace actord::testing {

inline std::string ToString(const actord_bytes& bytes) {
  return std::string(actord::detail::View(bytes));
}

inline Pid MakePid(uint32_t slot) { return actord_pid{1, 7, slot, 1}; }

// Formats a PID as the fakes write and read it.
inline size_t FormatFakePid(const actord_pid& pid, char* text) {
  return ("pid-" + std::to_string(pid.slot)).copy(text, 64);
}
inline int32_t ParseFakePid(actord_bytes text, actord_pid* pid) {
  const std::string_view view = actord::detail::View(text);
  if (!view.starts_with("pid-")) return ACTORD_INVALID_ARGUMENT;
  *pid =
      MakePid(static_cast<uint32_t>(std::stoul(std::string(view.substr(4)))));
  return ACTORD_OK;
}

using actord::OwnedPayload;

struct SentMessage {
  Pid from, to;
  std::string topic;
  OwnedPayload payload;
};

struct SpawnedProcess {
  // Set by the step's spawn.
  Pid pid;
  Pid parent;
  std::string type, method;
  OwnedPayload input;
  bool keep_result = false;
  uint32_t priority = ACTORD_PRIORITY_DEFAULT;
  // Set by the host's spawn.
  uint32_t flags = 0;
};

}  // namespace actord::testing
