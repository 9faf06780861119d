// Paths of stores and backups, as people write them.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

namespace actord::client {

// "x/" is "x": the completion of a shell adds the slash.
inline std::string WithoutEndSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace actord::client
