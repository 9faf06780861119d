#include "daemon/tls/revocations.h"

#include <openssl/err.h>
#include <openssl/obj_mac.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

using identity::Certificate;
using identity::Crl;
using identity::DateText;
using identity::NameText;
using identity::ParseCrls;
using identity::TimeOf;

absl::Status WrongList(const Crl& list, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the list of ", NameText(X509_CRL_get_issuer(list.get())), " ", what));
}

bool IsSignedBy(const Crl& list, const Certificate& authority) {
  if (X509_NAME_cmp(X509_CRL_get_issuer(list.get()),
                    X509_get_subject_name(authority.get())) != 0) {
    return false;
  }
  EVP_PKEY* const key = X509_get0_pubkey(authority.get());
  const bool is_signed =
      key != nullptr && X509_CRL_verify(list.get(), key) == 1;
  ERR_clear_error();
  return is_signed;
}

absl::Status CheckList(const Crl& list,
                       const std::vector<Certificate>& authorities,
                       absl::Time now) {
  const bool is_known = std::any_of(
      authorities.begin(), authorities.end(),
      [&list](const Certificate& one) { return IsSignedBy(list, one); });
  if (!is_known) {
    return WrongList(list,
                     "is signed by no certificate of tls.client_ca; a list "
                     "must come from an authority of that file");
  }
  if (X509_CRL_get_ext_by_NID(list.get(), NID_delta_crl, -1) >= 0) {
    return WrongList(list, "is a delta list; give the complete list");
  }
  const absl::Time since = TimeOf(X509_CRL_get0_lastUpdate(list.get()));
  if (since > now) {
    return WrongList(list,
                     absl::StrCat("is valid from ", DateText(since),
                                  " on; is the clock of one machine wrong?"));
  }
  return absl::OkStatus();
}

size_t CountOf(const Crl& list) {
  const auto* const revoked = X509_CRL_get_REVOKED(list.get());
  return revoked == nullptr
             ? 0
             : static_cast<size_t>(std::max(0, sk_X509_REVOKED_num(revoked)));
}

}  // namespace

absl::StatusOr<Revocations> Revocations::Make(
    std::string_view pem, const std::vector<Certificate>& authorities,
    absl::Time now) {
  auto lists = ParseCrls(pem);
  if (!lists.ok()) return lists.status();
  Revocations made;
  for (const Crl& list : *lists) {
    absl::Status status = CheckList(list, authorities, now);
    if (!status.ok()) return status;
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get());
    if (next != nullptr) {
      made.next_update_ = std::min(made.next_update_, TimeOf(next));
    }
  }
  made.lists_ = *std::move(lists);
  return made;
}

bool Revocations::IsRevoked(const Certificate& certificate) const {
  return std::any_of(
      lists_.begin(), lists_.end(), [&certificate](const Crl& list) {
        X509_REVOKED* revoked = nullptr;
        return X509_NAME_cmp(X509_CRL_get_issuer(list.get()),
                             X509_get_issuer_name(certificate.get())) == 0 &&
               X509_CRL_get0_by_cert(list.get(), &revoked, certificate.get()) ==
                   1;
      });
}

bool Revocations::Covers(const Certificate& authority) const {
  return std::any_of(
      lists_.begin(), lists_.end(),
      [&authority](const Crl& list) { return IsSignedBy(list, authority); });
}

std::string Revocations::Summary() const {
  std::string text;
  for (const Crl& list : lists_) {
    const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get());
    absl::StrAppend(
        &text, text.empty() ? "" : "; ",
        NameText(X509_CRL_get_issuer(list.get())), " revokes ", CountOf(list),
        CountOf(list) == 1 ? " certificate" : " certificates",
        next == nullptr
            ? std::string()
            : absl::StrCat(", next update ", DateText(TimeOf(next))));
  }
  return text;
}

}  // namespace actord::daemon
