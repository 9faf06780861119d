// The values that a hostile plugin passes to the daemon, chosen by the input of
// the plugin under way.
//
// Thread-safety: one thread.
#pragma once

#include <actord/abi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/hostile_process.h"

namespace actord::fuzz {

// The plugin of the input under way.
inline HostilePlugin* plugin = nullptr;

inline constexpr size_t kMaxSeen = 64;

template <typename T>
inline void See(std::vector<T>& seen, T one) {
  if (seen.size() < kMaxSeen) seen.push_back(one);
}

template <typename T>
inline T OneOf(const std::vector<T>& seen, T otherwise) {
  return seen.empty() ? otherwise : seen[plugin->input.Below(seen.size())];
}

inline uint64_t AnyNumber(const std::vector<uint64_t>& seen) {
  return plugin->input.Byte() % 8 == 0 ? plugin->input.Word()
                                       : OneOf<uint64_t>(seen, 1);
}

inline actord_pid AnyPid() {
  switch (plugin->input.Byte() % 8) {
    case 0:
      return {};
    case 1: {
      const uint64_t bits = plugin->input.Word();
      return {1, 7, static_cast<uint32_t>(bits),
              static_cast<uint32_t>(bits >> 32)};
    }
    default:
      return OneOf<actord_pid>(plugin->pids, {});
  }
}

// A text of true size, which lives until the next few.
inline actord_bytes TrueText() {
  static std::string kept[8];
  static size_t next = 0;
  static const char* const kWords[] = {"hostile",         "hostile.trapping",
                                       "hostile.command", "timer.sleep",
                                       "external.pay",    "run",
                                       "other",           "a/name"};
  std::string& text = kept[next++ % 8];
  const uint8_t kind = plugin->input.Byte();
  if (kind % 4 == 0) {
    text = plugin->input.Text();
  } else if (kind % 64 == 1) {
    text.assign(kHostilePayloadLimit + kind % 3, 'x');
  } else {
    text = kWords[kind % 8];
  }
  return {text.data(), text.size()};
}

// A text whose size may lie: more than `limit` bytes, and one is there.
inline actord_bytes AnyText(uint64_t limit) {
  static char byte[1] = {'x'};
  const uint8_t kind = plugin->input.Byte();
  if (kind == 255) return {byte, SIZE_MAX};
  if (kind == 254) return {byte, limit + 1};
  if (kind == 253) return {byte, size_t{1} << 40};
  if (kind % 8 == 0) return {nullptr, 0};
  return TrueText();
}

inline constexpr uint64_t kLabel = 1024;

inline actord_payload AnyPayload() {
  return {AnyText(kHostilePayloadLimit),
          plugin->input.Byte() % 4 == 0 ? AnyText(kLabel) : actord_bytes{}};
}

inline uint32_t AnySize(size_t whole) {
  return static_cast<uint32_t>(
      plugin->input.Byte() % 8 == 0 ? plugin->input.Word() : whole);
}

inline uint64_t AnyTime() {
  const uint8_t kind = plugin->input.Byte();
  return kind % 4 == 0 ? plugin->input.Word() : uint64_t{1000} << (kind % 32);
}

inline actord_spawn AnySpawn(uint64_t* monitor_tag) {
  return {.struct_size = AnySize(sizeof(actord_spawn)),
          .flags = plugin->input.Byte(),
          .process_type = TrueText(),
          .method = TrueText(),
          .input = AnyPayload(),
          .priority = plugin->input.Byte() % 40u,
          .reserved = 0,
          .monitor_tag = plugin->input.Byte() % 2 == 0 ? nullptr : monitor_tag,
          .name = TrueText()};
}

inline actord_message AnyMessage() {
  return {.struct_size = AnySize(sizeof(actord_message)),
          .reserved = 0,
          .topic = AnyText(kLabel),
          .payload = AnyPayload()};
}

}  // namespace actord::fuzz
