// Certificates, private keys and revocation lists: owned, read from PEM, and
// described.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::identity {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeCrl {
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
};
using Certificate = std::unique_ptr<X509, FreeX509>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeKey>;
using Crl = std::unique_ptr<X509_CRL, FreeCrl>;

// Each function reads the blocks of its kind in the text, in their order, and
// ignores all other text. INVALID_ARGUMENT names the mistake, to be written
// after the name of the file: no block, or a malformed block.
absl::StatusOr<std::vector<Certificate>> ParseCertificates(
    std::string_view pem);
// The first key of the text. A key with a passphrase is an error.
absl::StatusOr<PrivateKey> ParsePrivateKey(std::string_view pem);
absl::StatusOr<std::vector<Crl>> ParseCrls(std::string_view pem);

// A name as RFC 2253 writes it: "CN=billing,O=Example".
std::string NameText(const X509_NAME* name);
std::string SubjectOf(const Certificate& certificate);
// "AB:CD:...", as `openssl x509 -fingerprint -sha256` prints it.
std::string FingerprintOf(const Certificate& certificate);
// "2027-01-31T12:00:00Z".
std::string DateText(absl::Time time);

// Null, or an invalid time: InfinitePast.
absl::Time TimeOf(const ASN1_TIME* time);
absl::Time NotBefore(const Certificate& certificate);
absl::Time NotAfter(const Certificate& certificate);
// Why the certificate is not valid at `now`, with its subject, the date and the
// remedy; "": it is valid.
std::string WhyNotNow(const Certificate& certificate, absl::Time now);

// Whether the certificate is that of the key.
bool BelongsTo(const PrivateKey& key, const Certificate& certificate);

}  // namespace actord::identity
