// The keys of the state store. A key begins with its kind, two bytes. All its
// numbers are big-endian, so keys have the order of their numbers.
//
//   kind      after the kind                   value (state_values.h)
//   kMeta                                      StoreMeta
//   kProcess  PID                              ProcessEntry
//   kImage    PID                              ImageEntry
//   kMail     PID, position                    Mail
//   kBody     position                         key of the Mail or Letter whose
//                                              body is only in the journal
//   kName     owner, name                      PID's 16 bytes
//   kGroup    owner, group, 0, PID             nothing
//   kExit     watcher's PID, PID, tag          ExitEntry: not yet told
//   kTimer    time, PID, tag                   nothing; tag 0: the lifetime
//   kOutcome  PID                              OutcomeEntry
//   kRequest  owner, kind of id, id            RequestEntry; of an answer to a
//                                              yield the id is PID and tag
//   kOrder    kind of id, time, lsn            key of the kRequest that ends at
//                                              that time; lsn: of its record
//   kOwner    owner                            the name
//   kExpiry   time, key of an expiring entry   nothing
//   kLetter   position                         Letter
//   kPlugin   number                           records::Plugin
//   kHistory  PID, position of the STEP        HistoryEntry: of replay types
//   kCall     position                         key of the kRequest of a call
//                                              that is not answered
//   kAnswer   position of the call             CallAnswer
//
// Thread-safety: pure functions.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/process/owner.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

enum class KeyKind : uint16_t {
  kMeta = 1,
  kProcess = 2,
  kImage = 3,
  kMail = 4,
  kBody = 5,
  kName = 6,
  kGroup = 7,
  kExit = 8,
  kTimer = 9,
  kOutcome = 10,
  kRequest = 11,
  kExpiry = 12,
  kLetter = 13,
  kPlugin = 14,
  kHistory = 15,
  kOrder = 16,
  kOwner = 17,
  kCall = 18,
  kAnswer = 19,
};
inline constexpr size_t kKeyKindBytes = 2;
inline constexpr size_t kKeyPidBytes = 16;
// Behind a PID that follows the kind.
inline constexpr size_t kBehindPid = kKeyKindBytes + kKeyPidBytes;

namespace keys {

void Append(std::string_view text, std::string& key);
void Append(const Pid& pid, std::string& key);
void Append(Owner owner, std::string& key);
template <std::unsigned_integral Number>
void Append(Number number, std::string& key) {
  char bytes[sizeof(Number)];
  for (size_t i = 0; i < sizeof(Number); ++i) {
    bytes[i] = static_cast<char>(number >> (8 * (sizeof(Number) - 1 - i)));
  }
  key.append(bytes, sizeof(bytes));
}

}  // namespace keys

// The key of these parts; with fewer parts, the common prefix of such keys.
template <typename... Parts>
std::string KeyOf(KeyKind kind, const Parts&... parts) {
  std::string key;
  // A kind, a PID and a number: most keys need no more.
  key.reserve(kKeyKindBytes + kKeyPidBytes + sizeof(uint64_t));
  keys::Append(static_cast<uint16_t>(kind), key);
  (keys::Append(parts, key), ...);
  return key;
}
// The first key after all keys that begin with `prefix`.
std::string BehindPrefix(std::string prefix);

// Parts of a key. Precondition: the key is long enough.
Pid PidIn(std::string_view key, size_t offset);
uint64_t NumberIn(std::string_view key, size_t offset);
// For a key of kName, kGroup, kRequest or kOwner.
Owner OwnerIn(std::string_view key);
// For a key of kRequest.
uint8_t IdKindIn(std::string_view key);
std::string_view IdIn(std::string_view key);

// The kinds of ids.
inline constexpr uint8_t kSubmitId = 1;
inline constexpr uint8_t kMessageId = 2;
inline constexpr uint8_t kCallId = 3;   // the message id of a call
inline constexpr uint8_t kYieldId = 4;  // the answer to an external task

// The id of kYieldId.
std::string YieldIdOf(const YieldToken& token);
// The token of an id. Precondition: it is an id of kYieldId.
YieldToken YieldOfId(std::string_view id);

}  // namespace actord::runtime
