// The proved identity of a client's certificate, for all calls of its
// connection.
//
// Thread-safety: constant; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace actord::daemon {

struct CertifiedPeer {
  // ProvedName of the certificate; "": it proves none.
  std::string name;
  // The subject of the certificate, for logs.
  std::string subject;
  // Its id in the registry of connections; 0: the connection has ended.
  uint64_t connection = 0;
};

}  // namespace actord::daemon
