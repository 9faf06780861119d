#include "daemon/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

absl::Status Failed(const std::string& path, const char* what, int error) {
  return absl::InvalidArgumentError(absl::StrCat(
      "port file ", path, ": cannot ", what, ": ", std::strerror(error)));
}

}  // namespace

absl::Status RemovePortFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failed(path, "remove the old one", errno);
}

absl::Status WritePortFile(const std::string& path,
                           const std::vector<int>& ports) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  {
    std::ofstream file(temporary, std::ios::trunc);
    for (const int port : ports) file << port << '\n';
    file.close();
    if (!file) {
      const int error = errno;
      unlink(temporary.c_str());
      return Failed(path, "write it", error);
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(temporary.c_str());
    return Failed(path, "write it", error);
  }
  return absl::OkStatus();
}

}  // namespace actord::daemon
