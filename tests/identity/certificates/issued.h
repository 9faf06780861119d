// An authority of certificates in memory: it issues certificates, with keys of
// their own, and revocation lists.
//
// Thread-safety: none. A failure of OpenSSL aborts the test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "identity/certificates/x509.h"

namespace actord::identity {

// The time of these tests, and of all certificates unless they say otherwise.
inline const absl::Time kTestNow =
    absl::FromUnixSeconds(1'800'000'000);  // in January 2027

struct Wanted {
  std::string common_name = "client";
  // As OpenSSL's configuration writes them: "URI:spiffe://a/b,DNS:c"; "": none.
  std::string alternative_names;
  absl::Time begin = kTestNow - absl::Hours(1);
  absl::Time end = kTestNow + absl::Hours(24 * 90);
  bool is_authority = false;
  // An RSA key of this many bits, instead of one of P-256.
  unsigned int rsa_bits = 0;
  // The whole subject, instead of the common name, in the order of the names.
  std::vector<std::string> common_names;
};

struct Issued {
  std::string certificate;  // PEM
  std::string key;          // PEM
  long serial = 0;

  [[nodiscard]] Certificate parsed() const;
};

// The PEM text of a key, encrypted with a passphrase.
std::string WithPassphrase(const std::string& key);

class Authority {
 public:
  explicit Authority(const std::string& name = "authority",
                     const Wanted& wanted = {});

  [[nodiscard]] const std::string& certificate() const {
    return own_.certificate;
  }
  [[nodiscard]] const std::string& key() const { return own_.key; }

  Issued Issue(const Wanted& wanted = {});
  // An authority whose certificate this one has signed.
  Authority IssueAuthority(const std::string& name, const Wanted& wanted = {});
  [[nodiscard]] long serial() const { return own_.serial; }

  struct List {
    std::vector<long> serials;
    absl::Time begin = kTestNow - absl::Hours(1);
    absl::Time end = kTestNow + absl::Hours(24);
    bool is_delta = false;
  };
  // PEM.
  [[nodiscard]] std::string Revoke(const List& list) const;

 private:
  explicit Authority(Issued own) : own_(std::move(own)) {}

  Issued own_;
};

}  // namespace actord::identity
