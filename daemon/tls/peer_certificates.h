// The certificates of connected clients: the name that each proves, and whether
// it is revoked.
//
// gRPC verifies a certificate at the handshake, and knows no revocation lists.
// So each connection is checked when its first call comes, and again when the
// lists change. gRPC keeps one authentication context for all calls of a
// connection; the entry holds a reference to it, so that its address is not
// used again, and a later call of the connection costs one look-up by that
// address.
//
// A connection of a revoked client is cut: at once if the list is new, and else
// kCutAfter after its first call, whose refusal arrives before.
//
// Thread-safety: any thread. Ownership: owns references to contexts of gRPC;
// borrows the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/tls/auth_context.h"
#include "daemon/tls/certified_peer.h"
#include "daemon/tls/tls_reloader.h"
#include "identity/certificates/x509.h"
#include "runtime/system/clock.h"

struct grpc_call;

namespace actord::daemon {

// The operations on connections (daemon/connections/registry.h).
struct ConnectionAccess {
  // The number of the open connection of this peer, as gRPC spells it; 0: none.
  std::function<uint64_t(const std::string& peer)> find;
  std::function<bool(uint64_t connection)> is_open;
  // Cuts the connection, and logs that its client's certificate is revoked.
  std::function<void(uint64_t connection, const std::string& subject)> cut;
};

// The proved identities, by the numbers of the connections.
using CertifiedConnections =
    absl::flat_hash_map<uint64_t, std::shared_ptr<const CertifiedPeer>>;

class PeerCertificates {
 public:
  static constexpr uint64_t kCutAfterNs = 500'000'000;

  PeerCertificates(const TlsReloader& reloader, ConnectionAccess connections,
                   const runtime::Clock& clock);
  ~PeerCertificates();
  PeerCertificates(const PeerCertificates&) = delete;
  PeerCertificates& operator=(const PeerCertificates&) = delete;

  // `context`: that of the call. Null: the connection of the call has no
  // certificate, because it has no TLS. UNAUTHENTICATED: the certificate is
  // revoked.
  absl::StatusOr<std::shared_ptr<const CertifiedPeer>> Check(
      grpc_call* call, const grpc_auth_context& context);

  // Forgets connections that have ended, and cuts connections that are due.
  // `has_changed`: the lists have changed, so each connection is checked again.
  void Tick(bool has_changed);

  [[nodiscard]] size_t size() const;
  [[nodiscard]] CertifiedConnections ByConnection() const;

 private:
  struct Entry {
    // Never used again: another connection may get the address of the context.
    uint64_t number = 0;
    AuthContext context;
    std::shared_ptr<const CertifiedPeer> peer;
    bool is_revoked = false;
    uint64_t cut_ns = UINT64_MAX;  // UINT64_MAX: not due
  };
  using Entries = absl::flat_hash_map<const grpc_auth_context*, Entry>;

  static absl::StatusOr<std::shared_ptr<const CertifiedPeer>> Answer(
      const Entry& entry);
  // Makes the entry of a connection with these certificates.
  Entry Examine(AuthContext context, std::string_view pem,
                const std::string& peer) const;
  // Compares all connections with the lists in force.
  void LookAgain(uint64_t now_ns);
  void ForgetEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TlsReloader& reloader_;
  const ConnectionAccess connections_;
  const runtime::Clock& clock_;

  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // At this number of entries, the cache drops those of ended connections.
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Whether one of the certificates is revoked. A text that cannot be read counts
// as revoked.
bool IsAnyRevoked(const TlsMaterial& material, std::string_view pem);

}  // namespace actord::daemon
