// The credentials of gRPC's server that take certificate, key and authorities
// from the TlsReloader at each handshake.
//
// gRPC 1.51 offers two ways to change a certificate. Its own provider reads the
// files itself and, with broken files, serves no handshake until they are
// repaired. This class uses the other way: gRPC asks at each handshake
// (grpc_ssl_server_certificate_config_callback); it has no C++ class.
//
// Thread-safety: for the thread that builds the server. gRPC asks for the
// certificate on the threads that accept, one at a time.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "daemon/tls/tls_reloader.h"

namespace actord::daemon {

// The last answer to gRPC. Must outlive gRPC's server.
struct TlsOffer {
  explicit TlsOffer(const TlsReloader& source) : reloader(source) {}

  const TlsReloader& reloader;
  absl::Mutex mutex;
  std::shared_ptr<const TlsMaterial> given ABSL_GUARDED_BY(mutex);
  // gRPC asked for the credentials when it built its server. If it did not, it
  // reports nothing, and each connection hangs.
  bool is_taken ABSL_GUARDED_BY(mutex) = false;
};

// TLS 1.2 and 1.3, only HTTP/2. With authorities of clients, a client must
// present a certificate of one of them.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(TlsOffer& offer);
bool IsTaken(TlsOffer& offer);

}  // namespace actord::daemon
