#include "runtime/store/state_keys.h"

#include "runtime/system/assert.h"

namespace actord::runtime {
namespace keys {

void Append(std::string_view text, std::string& key) { key.append(text); }

void Append(const Pid& pid, std::string& key) {
  Append(pid.node, key);
  Append(pid.incarnation, key);
  Append(pid.slot, key);
  Append(pid.generation, key);
}

void Append(Owner owner, std::string& key) {
  Append(static_cast<uint16_t>(owner), key);
}

}  // namespace keys

std::string BehindPrefix(std::string prefix) {
  // A kind is never 0xffff, so there is always a byte that can be incremented.
  while (prefix.back() == '\xff') prefix.pop_back();
  prefix.back() =
      static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

uint64_t NumberIn(std::string_view key, size_t offset) {
  ACTORD_ASSERT_HOT(key.size() >= offset + sizeof(uint64_t),
                    "state_keys.h: the key is long enough");
  uint64_t number = 0;
  for (const char byte : key.substr(offset, 8)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

Owner OwnerIn(std::string_view key) {
  ACTORD_ASSERT_HOT(key.size() >= kKeyKindBytes + sizeof(Owner),
                    "state_keys.h: the key is long enough");
  return Owner{static_cast<uint16_t>(
      static_cast<unsigned char>(key[kKeyKindBytes]) << 8 |
      static_cast<unsigned char>(key[kKeyKindBytes + 1]))};
}

uint8_t IdKindIn(std::string_view key) {
  ACTORD_ASSERT_HOT(key.size() > kKeyKindBytes + sizeof(Owner),
                    "state_keys.h: the key is long enough");
  return static_cast<unsigned char>(key[kKeyKindBytes + sizeof(Owner)]);
}

std::string_view IdIn(std::string_view key) {
  return key.substr(kKeyKindBytes + sizeof(Owner) + 1);
}

Pid PidIn(std::string_view key, size_t offset) {
  const uint64_t high = NumberIn(key, offset);
  const uint64_t low = NumberIn(key, offset + 8);
  return {static_cast<uint32_t>(high >> 32), static_cast<uint32_t>(high),
          static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(low)};
}

std::string YieldIdOf(const YieldToken& token) {
  std::string id;
  keys::Append(token.pid, id);
  keys::Append(token.tag, id);
  return id;
}

YieldToken YieldOfId(std::string_view id) {
  ACTORD_ASSERT_HOT(id.size() == kKeyPidBytes + sizeof(uint64_t),
                    "state_keys.h: it is an id of kYieldId");
  return {PidIn(id, 0), NumberIn(id, kKeyPidBytes)};
}

}  // namespace actord::runtime
