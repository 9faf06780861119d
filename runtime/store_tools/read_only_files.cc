#include "runtime/store_tools/read_only_files.h"

#include "absl/strings/str_cat.h"

namespace actord::runtime {
namespace {

absl::Status Refused(const std::string& path) {
  return absl::PermissionDeniedError(
      absl::StrCat(path, " is opened to be read alone"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<File>> ReadOnlyFiles::Open(
    const std::string& path, OpenMode mode) {
  if (mode == OpenMode::kCreate) return Refused(path);
  return below_.Open(path, OpenMode::kRead);
}

absl::Status ReadOnlyFiles::Rename(const std::string& from,
                                   const std::string& /*to*/) {
  return Refused(from);
}
absl::Status ReadOnlyFiles::Unlink(const std::string& path) {
  return Refused(path);
}
absl::Status ReadOnlyFiles::MakeDirectory(const std::string& path) {
  return Refused(path);
}
absl::Status ReadOnlyFiles::SyncDirectory(const std::string& path) {
  return Refused(path);
}

}  // namespace actord::runtime
