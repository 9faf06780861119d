// The sockets on which the daemon listens for one address of its configuration.
//
// Thread-safety: none. Ownership: owns the sockets, and the file of a Unix
// socket.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace actord::daemon {

// The access to a Unix socket; "": the system's default.
struct UnixAccess {
  std::string mode;   // in octal digits
  std::string group;  // a name or a number
};

// "127.0.0.1:0" and 7600 give "127.0.0.1:7600".
std::string WithPort(const std::string& address, int port);

class Listener {
 public:
  // `address` as in the configuration (config_text.h). UNAVAILABLE: the system
  // refuses the address; the message is only the reason, such as "Address
  // already in use". A host name is bound at all of its addresses, with one
  // port. 0.0.0.0 and [::] accept IPv4 and IPv6. An existing Unix socket at the
  // path is replaced: check first that nobody serves there. Blocks while a name
  // is looked up.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(
      const std::string& address, const UnixAccess& access = {});
  // Takes a listening socket that does not block.
  static std::unique_ptr<Listener> Adopt(int fd);
  // Closes the sockets, and removes the file of the Unix socket, unless another
  // file has taken its place.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] const std::vector<int>& sockets() const { return sockets_; }
  // 0: a Unix socket.
  [[nodiscard]] int port() const { return port_; }
  // The address of an adopted socket: "127.0.0.1:7600", "unix:/path".
  [[nodiscard]] const std::string& adopted_address() const {
    return adopted_address_;
  }

 private:
  Listener() = default;
  absl::Status OpenUnix(const std::string& path, const UnixAccess& access);
  absl::Status OpenTcp(const std::string& host, int port);
  void Close();

  std::vector<int> sockets_;
  int port_ = 0;
  std::string adopted_address_;
  std::string path_;  // "": no file to remove
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace actord::daemon
