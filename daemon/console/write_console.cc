// Writes the files of the console as constants of C++.
//
//   actord_write_console OUTPUT.cc ROOT FILE...
//
// FILE is a path below ROOT.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace actord::daemon {
namespace {

constexpr std::string_view kEndOfText = ")console\"";

// "": files of this kind are not served.
std::string_view TypeOf(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  // The licences of foreign files ask for copies in each program.
  if (path.ends_with(".LICENSE")) return "text/plain; charset=utf-8";
  return "";
}

// FNV-1a. A change of a file changes it, which is all that an ETag needs.
uint64_t HashOf(std::string_view text) {
  constexpr uint64_t kBasis = 14695981039346656037U;
  constexpr uint64_t kPrime = 1099511628211U;
  uint64_t hash = kBasis;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  return hash;
}

int Run(const std::string& output, const std::string& root,
        std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  std::ofstream out(output);
  out << "#include \"daemon/console/console_files.h\"\n\n"
         "namespace actord::daemon {\nnamespace {\n\n"
         "constexpr ConsoleFile kFiles[] = {\n";
  for (const std::string& path : paths) {
    std::ifstream in(root + "/" + path, std::ios::binary);
    std::ostringstream read;
    read << in.rdbuf();
    const std::string text = read.str();
    const std::string_view type = TypeOf(path);
    if (!in || type.empty() || text.find(kEndOfText) != std::string::npos ||
        text.find('\r') != std::string::npos ||
        text.find('\0') != std::string::npos) {
      std::cerr << path << " cannot be read, or cannot be served\n";
      return 1;
    }
    out << "{.path = \"" << path << "\", .content_type = \"" << type
        << "\", .etag = R\"(\"" << std::hex << HashOf(text)
        << "\")\", .body = R\"console(" << text << ")console\"},\n";
  }
  out << "};\n\n}  // namespace\n\n"
         "std::span<const ConsoleFile> ConsoleFiles() { return kFiles; }\n\n"
         "}  // namespace actord::daemon\n";
  out.close();
  return out ? 0 : 1;
}

}  // namespace
}  // namespace actord::daemon

int main(int argc, char** argv) {
  constexpr int kFirstFile = 3;
  if (argc <= kFirstFile) {
    std::cerr << "usage: actord_write_console OUTPUT.cc ROOT FILE...\n";
    return 1;
  }
  return actord::daemon::Run(argv[1], argv[2],
                             {argv + kFirstFile, argv + argc});
}
