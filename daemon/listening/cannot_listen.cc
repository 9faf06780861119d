#include "daemon/listening/cannot_listen.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "daemon/listening/listen_check.h"
#include "daemon/listening/port_holder.h"
#include "daemon/problems/problem_list.h"
#include "daemon/settings/config_text.h"
#include "runtime/files/lock_holder.h"

namespace actord::daemon {
namespace {

struct Listed {
  const char* key;
  const std::string& text;
};

// The addresses of gRPC, then those of the admin port.
std::vector<Listed> AllListed(const Config& config) {
  std::vector<Listed> all;
  for (const std::string& text : config.listen) {
    all.push_back({kListenKey, text});
  }
  for (const std::string& text : config.admin_listen) {
    all.push_back({kAdminListenKey, text});
  }
  return all;
}

// Who uses an address that is in use.
std::string UsedBy(const std::string& address) {
  const std::string holder = PortHolder(address);
  if (holder == runtime::ProgramText(getpid())) {
    return " by this daemon: two of its addresses need the same port";
  }
  if (!holder.empty()) return " by another program" + holder;
  const auto parsed = ParseListenAddress(address);
  const bool is_unix = parsed.ok() && parsed->is_unix;
  return absl::StrCat("; as root, \"ss -l", is_unix ? "x" : "tn",
                      "p\" names the program that uses it");
}

// Why no socket can be made in the folder; "": it can.
std::string WhyNoFolder(const std::filesystem::path& folder) {
  struct stat state {};
  if (stat(folder.c_str(), &state) != 0) {
    if (errno == ENOENT && folder.parent_path() == "/run") return "";
    return absl::StrCat("the folder ", folder.string(), ": ",
                        std::strerror(errno));
  }
  if (!S_ISDIR(state.st_mode)) {
    return absl::StrCat(folder.string(), " is not a folder");
  }
  if (access(folder.c_str(), W_OK | X_OK) == 0) return "";
  return absl::StrCat("the folder ", folder.string(),
                      " may not be written: ", std::strerror(errno));
}

}  // namespace

absl::Status CannotListen(const std::string& key, const std::string& address,
                          const std::string& reason) {
  return absl::UnavailableError(
      absl::StrCat(key, ": cannot listen on ", address, ": ", reason,
                   reason == std::strerror(EADDRINUSE) ? UsedBy(address) : ""));
}

absl::Status CheckAddressList(const Config& config) {
  ProblemList problems;
  std::set<std::string> seen;
  for (const auto& [key, text] : AllListed(config)) {
    const auto address = ParseListenAddress(text);
    if (!address.ok() || (!address->is_unix && address->port == 0)) continue;
    const std::string same =
        address->is_unix ? absl::StrCat("unix:", address->path)
                         : absl::StrCat(address->host, " ", address->port);
    if (!seen.insert(same).second) {
      problems.Add(absl::InvalidArgumentError(
          absl::StrCat(key, ": ", text, " is listed twice")));
    }
  }
  return problems.status();
}

absl::Status CheckSocketFolders(const Config& config) {
  ProblemList problems;
  for (const auto& [key, text] : AllListed(config)) {
    const auto address = ParseListenAddress(text);
    if (!address.ok() || !address->is_unix) continue;
    std::string why = WhyNoSocketPath(address->path);
    if (why.empty()) {
      const std::filesystem::path folder =
          std::filesystem::path(address->path).parent_path();
      why = WhyNoFolder(folder.empty() ? "." : folder);
    }
    if (!why.empty()) {
      problems.Add(
          absl::InvalidArgumentError(absl::StrCat(key, ": ", text, ": ", why)));
    }
  }
  return problems.status();
}

}  // namespace actord::daemon
