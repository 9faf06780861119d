#include "runtime/files/remove_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace actord::runtime {

absl::Status RemoveFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot remove ", path, ": ", error.message()));
}

}  // namespace actord::runtime
