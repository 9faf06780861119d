// The file of a plugin: a broken one is refused before the dynamic linker sees
// it, and reading it never leaves its bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "handlers/loader/plugin_file.h"
#include "tests/fuzz/input.h"

namespace actord::handlers {
namespace {

void CheckFile(const uint8_t* data, size_t size) {
  static const int file = memfd_create("plugin", MFD_CLOEXEC);
  fuzz::Require(file >= 0 && ftruncate(file, 0) == 0, "there is memory");
  fuzz::Require(pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
                "the file is written");
  const absl::Status whole = CheckWholeElf(file);
  const absl::Status status = whole.ok() ? CheckLibraryPaths(file) : whole;
  if (status.ok()) return;
  fuzz::Require(absl::IsInvalidArgument(status) && !status.message().empty(),
                "a refusal has a reason");
}

}  // namespace
}  // namespace actord::handlers

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  actord::handlers::CheckFile(data, size);
  return 0;
}
