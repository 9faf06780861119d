// The checked contents of the files of TLS: certificate, key, authorities of
// clients, revocation lists. Constant once made; a reload makes another one.
//
// Thread-safety: constant; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/settings/config.h"
#include "daemon/tls/revocations.h"
#include "daemon/tls/tls_files.h"
#include "identity/certificates/x509.h"

namespace actord::daemon {

class TlsMaterial {
 public:
  // The warnings about the end of a certificate begin this long before it.
  static constexpr absl::Duration kWarnBefore = absl::Hours(14 * 24);

  // INVALID_ARGUMENT names the setting, its file, the mistake and the remedy:
  //  - the chain is damaged, out of order, expired or not valid yet;
  //  - the key is damaged, has a passphrase, or belongs to another certificate;
  //  - OpenSSL serves no such certificate: its key is too short, or its
  //    signature too weak;
  //  - the authorities are damaged, or none of them is valid now;
  //  - a revocation list is as Revocations::Make refuses it.
  static absl::StatusOr<std::shared_ptr<const TlsMaterial>> Check(
      const TlsSettings& settings, TlsTexts texts, absl::Time now);

  [[nodiscard]] const TlsTexts& texts() const { return texts_; }
  [[nodiscard]] const Revocations& revocations() const { return revocations_; }
  // The earliest end of the certificates of the chain.
  [[nodiscard]] absl::Time not_after() const { return not_after_; }

  // One sentence for each part that differs from `former`, for the log:
  // subject, end and fingerprint of the certificate, the authorities, the
  // lists. Null: all parts.
  [[nodiscard]] std::vector<std::string> Changes(
      const TlsMaterial* former) const;
  // Files that the operator must renew soon, or has not renewed in time.
  [[nodiscard]] std::vector<std::string> Warnings(absl::Time now) const;

 private:
  TlsMaterial() = default;
  absl::Status TakeChain(absl::Time now);
  absl::Status TakeKey();
  // Makes the same context of OpenSSL as gRPC, because gRPC does not report why
  // it fails.
  [[nodiscard]] absl::Status TryToServe(const identity::PrivateKey& key) const;
  absl::Status TakeAuthorities(absl::Time now);

  TlsSettings settings_;
  TlsTexts texts_;
  std::vector<identity::Certificate>
      chain_;  // the daemon's own certificate first
  std::vector<identity::Certificate> authorities_;
  Revocations revocations_;
  absl::Time not_after_ = absl::InfiniteFuture();
};

}  // namespace actord::daemon
