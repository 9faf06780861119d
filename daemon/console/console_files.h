// The files of the console, which the build puts into the program
// (write_console.cc).
//
// Thread-safety: constants.
#pragma once

#include <span>
#include <string_view>

namespace actord::daemon {

struct ConsoleFile {
  std::string_view path;  // below /console/: "views/process.js"
  std::string_view content_type;
  std::string_view etag;  // of the body, with its quotes
  std::string_view body;
};

// Sorted by path.
std::span<const ConsoleFile> ConsoleFiles();

}  // namespace actord::daemon
