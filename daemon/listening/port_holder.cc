#include "daemon/listening/port_holder.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "daemon/settings/config_text.h"
#include "runtime/files/lock_holder.h"

namespace actord::daemon {
namespace {

// The words of an IPv4 address that is mapped into IPv6, as /proc prints them.
constexpr std::string_view kMapped = "0000000000000000FFFF0000";

// "0100007F" for 127.0.0.1, as /proc/net/tcp prints it; "" for a family that it
// does not have.
std::string KernelText(const sockaddr* address) {
  uint32_t words[4] = {};
  size_t count = 0;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    words[count++] = v4.sin_addr.s_addr;
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    std::memcpy(words, &v6.sin6_addr, sizeof words);
    count = 4;
  }
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, "%08X", words[i]);
  }
  return text;
}

bool IsAny(std::string_view kernel_text) {
  return kernel_text.find_first_not_of('0') == std::string_view::npos;
}

// Whether two sockets with these addresses cannot listen on one port.
bool Collide(std::string_view a, std::string_view b) {
  if (IsAny(a) || IsAny(b)) return true;
  for (std::string_view* text : {&a, &b}) {
    if (text->starts_with(kMapped)) text->remove_prefix(kMapped.size());
  }
  return a == b;
}

// The kernel's texts of the addresses of the host.
std::vector<std::string> AddressesOf(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  std::vector<std::string> texts;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    texts.push_back(KernelText(one->ai_addr));
  }
  return texts;
}

// The inode of the socket that listens there; "": none.
std::string InodeOfTcp(const ListenAddress& address) {
  constexpr const char* kListens = "0A";
  constexpr int kHexadecimal = 16;
  const std::vector<std::string> own = AddressesOf(address.host);
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the headings
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number;
      std::string local;
      std::string remote;
      std::string state;
      std::string ignored;
      std::string inode;
      // sl local remote st tx:rx tr:when retransmits uid timeout inode
      words >> number >> local >> remote >> state >> ignored >> ignored >>
          ignored >> ignored >> ignored >> inode;
      const size_t colon = local.find(':');
      if (state != kListens || colon == std::string::npos) continue;
      const auto port =
          std::strtoul(local.c_str() + colon + 1, nullptr, kHexadecimal);
      if (port != address.port) continue;
      const std::string_view at = std::string_view(local).substr(0, colon);
      if (std::any_of(own.begin(), own.end(), [at](const std::string& mine) {
            return Collide(at, mine);
          })) {
        return inode;
      }
    }
  }
  return "";
}

std::string InodeOfUnix(const std::string& path) {
  std::ifstream file("/proc/net/unix");
  std::string line;
  std::getline(file, line);  // the headings
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number;
    std::string references;
    std::string protocol;
    std::string flags;
    std::string type;
    std::string state;
    std::string inode;
    std::string at;
    words >> number >> references >> protocol >> flags >> type >> state >>
        inode >> std::ws;
    std::getline(words, at);
    constexpr const char* kListens = "00010000";
    if (at == path && flags == kListens) return inode;
  }
  return "";
}

std::vector<std::filesystem::path> EntriesOf(
    const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator one(folder, error), end;
       !error && one != end; one.increment(error)) {
    entries.push_back(one->path());
  }
  return entries;
}

// The first process that has the socket; 0: none that this user may see.
int ProcessWith(const std::string& inode) {
  const std::string wanted = absl::StrCat("socket:[", inode, "]");
  for (const std::filesystem::path& process : EntriesOf("/proc")) {
    const int pid = std::atoi(process.filename().c_str());
    if (pid == 0) continue;
    for (const std::filesystem::path& file : EntriesOf(process / "fd")) {
      std::error_code closed;
      if (std::filesystem::read_symlink(file, closed) == wanted) return pid;
    }
  }
  return 0;
}

}  // namespace

std::string PortHolder(const std::string& address) {
  const auto parsed = ParseListenAddress(address);
  if (!parsed.ok()) return "";
  const std::string inode =
      parsed->is_unix ? InodeOfUnix(parsed->path) : InodeOfTcp(*parsed);
  if (inode.empty()) return "";
  const int pid = ProcessWith(inode);
  return pid == 0 ? "" : runtime::ProgramText(pid);
}

}  // namespace actord::daemon
