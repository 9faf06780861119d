// The checked revocation lists of a file. Answers whether they name a
// certificate.
//
// Thread-safety: constant after Make; any thread.
#pragma once

#include <openssl/x509.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "identity/certificates/x509.h"

namespace actord::daemon {

class Revocations {
 public:
  // No list: nothing is revoked.
  Revocations() = default;
  // INVALID_ARGUMENT names the mistake: a list is damaged, was not signed by
  // any of the `authorities`, begins later than `now`, or is a delta list. A
  // list whose next update is overdue is accepted: the certificates that it
  // names are still revoked.
  static absl::StatusOr<Revocations> Make(
      std::string_view pem,
      const std::vector<identity::Certificate>& authorities, absl::Time now);

  // True if the list of the certificate's issuer names the certificate. A
  // certificate whose issuer has no list is not revoked.
  [[nodiscard]] bool IsRevoked(const identity::Certificate& certificate) const;
  // Whether there is a list of this authority.
  [[nodiscard]] bool Covers(const identity::Certificate& authority) const;
  // The earliest time at which a list announces its successor; InfiniteFuture:
  // no list does.
  [[nodiscard]] absl::Time next_update() const { return next_update_; }
  // "CN=ca with 3 certificates, until 2027-...", for each list.
  [[nodiscard]] std::string Summary() const;

 private:
  std::vector<identity::Crl> lists_;
  absl::Time next_update_ = absl::InfiniteFuture();
};

}  // namespace actord::daemon
