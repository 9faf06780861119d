#include "tests/sim/store/scribe_versions.h"

#include <cstdlib>
#include <string>

#include "tests/sim/store/scribe.h"

namespace actord::sim {
namespace {

template <bool kReplayed, uint16_t kVersion>
class ScribeOf : public BasicScribe<kReplayed> {
 public:
  ScribeOf() : BasicScribe<kReplayed>(kVersion) {}
};

template <uint16_t kVersion>
runtime::CatalogEntries Entries() {
  return {.plugin = "scribes",
          .version = std::to_string(kVersion),
          .plugin_number = kVersion,
          .process_types = {&kProcessType<ScribeOf<false, kVersion>>,
                            &kProcessType<ScribeOf<true, kVersion>>}};
}

}  // namespace

runtime::CatalogEntries ScribesOf(uint32_t version) {
  static_assert(kScribeVersions == 3);
  switch (version) {
    case 1:
      return Entries<1>();
    case 2:
      return Entries<2>();
    case 3:
      return Entries<3>();
    default:
      std::abort();
  }
}

}  // namespace actord::sim
