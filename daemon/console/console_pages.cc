#include "daemon/console/console_pages.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/console/console_files.h"

namespace actord::daemon {
namespace {

constexpr unsigned kUnchangedFile = 304;
constexpr unsigned kSeeFolder = 307;
constexpr unsigned kFolderMoved = 308;
constexpr unsigned kNoSuchFile = 404;
constexpr unsigned kOnlyGet = 405;

constexpr std::string_view kPortRoot = "/";
constexpr std::string_view kConsoleRoot = "/console";
constexpr std::string_view kConsoleFolder = "/console/";

// Scripts, styles and calls come from this port alone. There are no scripts and
// no styles in the page itself, no frames around it, and no forms that are sent
// anywhere.
constexpr const char* kConsolePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

AdminAnswer WithStatus(unsigned status, std::string body) {
  AdminAnswer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

}  // namespace

bool IsConsolePath(std::string_view path) {
  return path == kPortRoot || path == kConsoleRoot ||
         path.starts_with(kConsoleFolder);
}

AdminAnswer ConsoleAnswer(const AdminRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    AdminAnswer answer = WithStatus(kOnlyGet, "use GET for the console\n");
    answer.allow = "GET, HEAD";
    return answer;
  }
  if (request.path == kPortRoot || request.path == kConsoleRoot) {
    // The port may serve without a console later.
    AdminAnswer answer =
        WithStatus(request.path == kPortRoot ? kSeeFolder : kFolderMoved,
                   "see /console/\n");
    answer.headers.emplace_back("Location", std::string(kConsoleFolder));
    return answer;
  }
  std::string_view path =
      std::string_view(request.path).substr(kConsoleFolder.size());
  if (path.empty()) path = "index.html";
  const auto files = ConsoleFiles();
  const auto file =
      std::find_if(files.begin(), files.end(),
                   [path](const ConsoleFile& one) { return one.path == path; });
  if (file == files.end()) {
    return WithStatus(kNoSuchFile, "the console has no such file\n");
  }
  AdminAnswer answer;
  answer.content_type = std::string(file->content_type);
  answer.headers.emplace_back("Content-Security-Policy", kConsolePolicy);
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  answer.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  answer.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  // A browser asks again each time, so that it never mixes two versions.
  answer.headers.emplace_back("Cache-Control", "no-cache");
  answer.headers.emplace_back("ETag", std::string(file->etag));
  if (request.if_none_match == file->etag) {
    answer.status = kUnchangedFile;
    return answer;
  }
  answer.body = std::string(file->body);
  return answer;
}

}  // namespace actord::daemon
