// The versions of the plugin that has the scribes.
//
// Thread-safety: constants.
#pragma once

#include <cstdint>

#include "runtime/process/catalog.h"

namespace actord::sim {

inline constexpr uint16_t kScribeVersions = 3;

// The entries of a version from 1 to kScribeVersions, which is also the number
// of its file in the store.
runtime::CatalogEntries ScribesOf(uint32_t version);

}  // namespace actord::sim
