// What the fakes of the SDK's tests write down: owned copies of the ABI's
// borrowed data.
//
// Thread-safety: plain values.
#pragma once

#include <actord/abi.h>
#include <actord/values.h>

#include <cstdint>
#include <string>

namespace actord::testing {

inline std::string ToString(const actord_bytes& bytes) {
  return std::string(actord::detail::View(bytes));
}

inline Pid MakePid(uint32_t slot) { return actord_pid{1, 7, slot, 1}; }

struct OwnedPayload {
  std::string bytes;
  std::string content_type;

  static OwnedPayload From(const actord_payload& payload) {
    return {ToString(payload.bytes), ToString(payload.content_type)};
  }
  friend bool operator==(const OwnedPayload&, const OwnedPayload&) = default;
};

struct SentMessage {
  Pid from, to;
  std::string topic;
  OwnedPayload payload;
};

struct SpawnedProcess {
  Pid pid;  // of step's spawn
  Pid parent;
  std::string type, method;
  OwnedPayload input;
  bool keep_result = false;
};

}  // namespace actord::testing
