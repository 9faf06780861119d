#include "identity/certificates/x509.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <climits>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace actord::identity {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

Bio Reader(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Forgets the errors of OpenSSL on this thread, which gRPC would take for its
// own. Returns whether the last one was the end of the text.
bool ClearErrors() {
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  return last == 0 || (ERR_GET_LIB(last) == ERR_LIB_PEM &&
                       ERR_GET_REASON(last) == PEM_R_NO_START_LINE);
}

// Reads all blocks of one kind by `read(BIO*)`, which returns null at the end.
template <typename Owned, typename Read>
absl::StatusOr<std::vector<Owned>> ParseAll(std::string_view pem,
                                            const char* begin, Read read) {
  std::vector<Owned> found;
  if (pem.size() <= INT_MAX) {
    ERR_clear_error();
    const Bio bio = Reader(pem);
    while (auto* const one = read(bio.get())) found.emplace_back(one);
    if (!ClearErrors()) {
      return absl::InvalidArgumentError(absl::StrCat("block ", found.size() + 1,
                                                     " that begins with ",
                                                     begin, " is damaged"));
    }
  }
  if (found.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has no block that begins with ", begin, "; the file must be PEM"));
  }
  return found;
}

// Answers OpenSSL's request for a passphrase: there is none.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writes*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

}  // namespace

absl::StatusOr<std::vector<Certificate>> ParseCertificates(
    std::string_view pem) {
  return ParseAll<Certificate>(
      pem, "-----BEGIN CERTIFICATE-----", [](BIO* bio) {
        return PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
      });
}

absl::StatusOr<std::vector<Crl>> ParseCrls(std::string_view pem) {
  return ParseAll<Crl>(pem, "-----BEGIN X509 CRL-----", [](BIO* bio) {
    return PEM_read_bio_X509_CRL(bio, nullptr, nullptr, nullptr);
  });
}

absl::StatusOr<PrivateKey> ParsePrivateKey(std::string_view pem) {
  bool asked = false;
  PrivateKey key;
  if (pem.size() <= INT_MAX) {
    const Bio bio = Reader(pem);
    key.reset(
        PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, &asked));
  }
  ERR_clear_error();
  if (asked) {
    return absl::InvalidArgumentError(
        "the key has a passphrase, and only a key without one can be used: "
        "remove it with openssl pkey -in KEY -out NEW");
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        "has no private key in PEM (-----BEGIN PRIVATE KEY-----)");
  }
  return key;
}

std::string NameText(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || name == nullptr) return "";
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
}

std::string SubjectOf(const Certificate& certificate) {
  std::string subject = NameText(X509_get_subject_name(certificate.get()));
  return subject.empty() ? "(no subject)" : subject;
}

std::string FingerprintOf(const Certificate& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1) {
    return "";
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    absl::StrAppendFormat(&text, "%s%02X", i == 0 ? "" : ":", digest[i]);
  }
  return text;
}

std::string DateText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) {
    ERR_clear_error();
    return absl::InfinitePast();
  }
  return absl::FromTM(parts, absl::UTCTimeZone());
}

absl::Time NotBefore(const Certificate& certificate) {
  return TimeOf(X509_get0_notBefore(certificate.get()));
}

absl::Time NotAfter(const Certificate& certificate) {
  return TimeOf(X509_get0_notAfter(certificate.get()));
}

std::string WhyNotNow(const Certificate& certificate, absl::Time now) {
  const absl::Time begin = NotBefore(certificate), end = NotAfter(certificate);
  if (now > end) {
    return absl::StrCat("the certificate of ", SubjectOf(certificate),
                        " expired at ", DateText(end),
                        "; put a renewed one there");
  }
  if (now < begin) {
    return absl::StrCat("the certificate of ", SubjectOf(certificate),
                        " is valid from ", DateText(begin),
                        " on; is the clock of one machine wrong?");
  }
  return "";
}

bool BelongsTo(const PrivateKey& key, const Certificate& certificate) {
  const bool belongs =
      X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return belongs;
}

}  // namespace actord::identity
