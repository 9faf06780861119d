// Reads the kind of durability from the descriptor of a process type, and
// checks that the descriptor does not contradict itself. The runtime and the
// harness of actord/testing.h both use it.
//
// This header is not installed. runtime/ may include it, as handlers/ does.
//
// Thread-safety: pure functions.
#pragma once

#include <actord/abi.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "handlers/rules/process_rules.h"

namespace actord::rules {

enum class Durability : uint8_t {
  kNone,           // always volatile
  kSnapshotImage,  // an image after each step, by `snapshot`
  kFlatImage,  // an image after each step: bytes of the state, without a call
  kReplay,     // the inputs of each step
};

// The plugin that the daemon names as the owner of the commands and process
// types that it brings itself. No plugin file may have this name.
inline constexpr std::string_view kBuiltinPlugin = "builtin";

struct TypeDurability {
  Durability kind = Durability::kNone;
  // For kFlatImage: the version of the layout, 1 or more, and the size of the
  // image, 1 to ACTORD_FLAT_MAX_BYTES. Otherwise 0.
  uint32_t flat_version = 0;
  uint32_t flat_bytes = 0;
  // For kReplay: the type has `snapshot` and `restore`, so a snapshot can
  // replace older steps. True also for kSnapshotImage.
  bool has_snapshots = false;

  friend bool operator==(const TypeDurability&,
                         const TypeDurability&) = default;
};

constexpr bool HasDurability(const actord_process_type& type) {
  return type.struct_size >= offsetof(actord_process_type, flat_size) +
                                 sizeof(actord_process_type::flat_size);
}

constexpr bool HasSnapshotAndRestore(const actord_process_type& type) {
  return HasUpgrades(type) && type.snapshot != nullptr &&
         type.restore != nullptr;
}

// The mistake in the fields about durability, as a clause without a subject;
// empty: there is none.
constexpr std::string_view WhyNotDurable(const actord_process_type& type) {
  if (!HasDurability(type)) return {};
  const bool is_flat = type.flat_size != 0;
  if (type.durability > ACTORD_DURABILITY_REPLAY) {
    return "has an unknown durability; it must be none (0), image (1) or "
           "replay "
           "(2)";
  }
  if (type.durability != ACTORD_DURABILITY_IMAGE &&
      (is_flat || type.flat_version != 0)) {
    return "has a flat state, which needs the durability image (1)";
  }
  if (type.flat_size > ACTORD_FLAT_MAX_BYTES) {
    return "has a flat state of more than 64 bytes; a larger state needs "
           "snapshot and restore";
  }
  if (type.flat_size > type.state_size) {
    return "has a flat state that is larger than its state";
  }
  if (is_flat && type.flat_version == 0) {
    return "has a flat state without a flat_version; it must be 1 or more";
  }
  if (!is_flat && type.flat_version != 0) {
    return "has a flat_version without a flat state; flat_size must be 1 to 64";
  }
  if (type.durability == ACTORD_DURABILITY_IMAGE && !is_flat &&
      !HasSnapshotAndRestore(type)) {
    return "has the durability image (1), and neither a flat state nor both "
           "snapshot and restore";
  }
  return {};
}

// Precondition: WhyNotDurable is empty.
constexpr TypeDurability DurabilityOf(const actord_process_type& type) {
  TypeDurability how;
  if (!HasDurability(type) || type.durability == ACTORD_DURABILITY_NONE) {
    return how;
  }
  how.has_snapshots = HasSnapshotAndRestore(type);
  if (type.durability == ACTORD_DURABILITY_REPLAY) {
    how.kind = Durability::kReplay;
  } else if (type.flat_size == 0) {
    how.kind = Durability::kSnapshotImage;
  } else {
    how.kind = Durability::kFlatImage;
    how.flat_version = type.flat_version;
    how.flat_bytes = static_cast<uint32_t>(type.flat_size);
  }
  return how;
}

}  // namespace actord::rules
