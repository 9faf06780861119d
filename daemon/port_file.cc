#include "daemon/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

absl::Status Failed(const std::string& path, const char* what, int error) {
  return absl::InvalidArgumentError(absl::StrCat(
      "port file ", path, ": cannot ", what, ": ", std::strerror(error)));
}

std::string TextOf(const std::vector<int>& ports) {
  std::string text;
  for (const int port : ports) absl::StrAppend(&text, port, "\n");
  return text;
}

}  // namespace

absl::Status RemovePortFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failed(path, "remove it", errno);
}

absl::Status WritePortFile(const std::string& path,
                           const std::vector<int>& ports) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << TextOf(ports);
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

absl::Status RemoveOwnPortFile(const std::string& path,
                               const std::vector<int>& ports) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return text == TextOf(ports) ? RemovePortFile(path) : absl::OkStatus();
}

}  // namespace actord::daemon
