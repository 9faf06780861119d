#include "daemon/tls/tls_material.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace actord::daemon {
namespace {

using identity::BelongsTo;
using identity::Certificate;
using identity::DateText;
using identity::FingerprintOf;
using identity::NotAfter;
using identity::ParseCertificates;
using identity::ParsePrivateKey;
using identity::PrivateKey;
using identity::SubjectOf;
using identity::WhyNotNow;

absl::Status WrongFile(const char* setting, const std::string& path,
                       const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(setting, ": ", path, ": ", what));
}

absl::Status WrongFile(const char* setting, const std::string& path,
                       const absl::Status& what) {
  return WrongFile(setting, path, std::string(what.message()));
}

std::string CertificateText(const Certificate& certificate) {
  return absl::StrCat(SubjectOf(certificate), ", valid until ",
                      DateText(NotAfter(certificate)), ", SHA-256 ",
                      FingerprintOf(certificate));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsMaterial>> TlsMaterial::Check(
    const TlsSettings& settings, TlsTexts texts, absl::Time now) {
  std::shared_ptr<TlsMaterial> material(new TlsMaterial);
  material->settings_ = settings;
  material->texts_ = std::move(texts);
  absl::Status status = material->TakeChain(now);
  if (status.ok()) status = material->TakeKey();
  if (status.ok() && !settings.client_ca.empty()) {
    status = material->TakeAuthorities(now);
  }
  if (status.ok() && !settings.crl.empty()) {
    auto revocations =
        Revocations::Make(material->texts_.crl, material->authorities_, now);
    if (revocations.ok()) {
      material->revocations_ = *std::move(revocations);
    } else {
      status = WrongFile("tls.crl", settings.crl, revocations.status());
    }
  }
  if (!status.ok()) return status;
  return std::shared_ptr<const TlsMaterial>(std::move(material));
}

absl::Status TlsMaterial::TakeChain(absl::Time now) {
  const auto wrong = [this](const auto& what) {
    return WrongFile("tls.certificate", settings_.certificate, what);
  };
  auto chain = ParseCertificates(texts_.certificate);
  if (!chain.ok()) return wrong(chain.status());
  chain_ = *std::move(chain);
  for (size_t i = 0; i < chain_.size(); ++i) {
    const std::string why = WhyNotNow(chain_[i], now);
    if (!why.empty()) return wrong(why);
    not_after_ = std::min(not_after_, NotAfter(chain_[i]));
    if (i == 0) continue;
    if (X509_check_issued(chain_[i].get(), chain_[i - 1].get()) != X509_V_OK) {
      ERR_clear_error();
      return wrong(absl::StrCat(
          "the certificate of ", SubjectOf(chain_[i - 1]),
          " is followed by that of ", SubjectOf(chain_[i]),
          ", which did not issue it; put the daemon's own certificate first, "
          "and each issuer behind what it issued"));
    }
  }
  return absl::OkStatus();
}

absl::Status TlsMaterial::TakeKey() {
  const auto key = ParsePrivateKey(texts_.key);
  if (!key.ok()) return WrongFile("tls.key", settings_.key, key.status());
  if (BelongsTo(*key, chain_.front())) return TryToServe(*key);
  return WrongFile(
      "tls.key", settings_.key,
      absl::StrCat("the key does not belong to the certificate of ",
                   SubjectOf(chain_.front()), " in ", settings_.certificate,
                   ", which must come first in that file"));
}

absl::Status TlsMaterial::TryToServe(const PrivateKey& key) const {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX* const raw = context.get();
  const bool is_served =
      raw != nullptr &&
      SSL_CTX_use_certificate(raw, chain_.front().get()) == 1 &&
      SSL_CTX_use_PrivateKey(raw, key.get()) == 1 &&
      std::all_of(chain_.begin() + 1, chain_.end(),
                  [raw](const Certificate& one) {
                    return SSL_CTX_add1_chain_cert(raw, one.get()) == 1;
                  });
  const char* const why = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  if (is_served) return absl::OkStatus();
  return WrongFile(
      "tls.certificate", settings_.certificate,
      absl::StrCat(
          "the certificate of ", SubjectOf(chain_.front()),
          " or one behind it is not safe to serve: ",
          why == nullptr ? "unknown reason" : why,
          "; use a key of 2048 bits (RSA) or of a curve such as P-256, "
          "and SHA-256"));
}

absl::Status TlsMaterial::TakeAuthorities(absl::Time now) {
  auto authorities = ParseCertificates(texts_.client_ca);
  if (!authorities.ok()) {
    return WrongFile("tls.client_ca", settings_.client_ca,
                     authorities.status());
  }
  authorities_ = *std::move(authorities);
  const bool has_valid = std::any_of(
      authorities_.begin(), authorities_.end(),
      [now](const Certificate& one) { return WhyNotNow(one, now).empty(); });
  if (has_valid) return absl::OkStatus();
  return WrongFile("tls.client_ca", settings_.client_ca,
                   WhyNotNow(authorities_.front(), now));
}

std::vector<std::string> TlsMaterial::Changes(const TlsMaterial* former) const {
  const TlsTexts none;
  const TlsTexts& old = former == nullptr ? none : former->texts_;
  std::vector<std::string> changes;
  if (texts_.certificate != old.certificate) {
    changes.push_back(absl::StrCat("tls.certificate is of ",
                                   CertificateText(chain_.front())));
  } else if (texts_.key != old.key) {
    changes.emplace_back("tls.key");
  }
  if (texts_.client_ca != old.client_ca) {
    changes.push_back(absl::StrCat(
        "tls.client_ca has ",
        absl::StrJoin(authorities_, "; ",
                      [](std::string* out, const Certificate& one) {
                        absl::StrAppend(out, CertificateText(one));
                      })));
  }
  if (texts_.crl != old.crl) {
    changes.push_back(absl::StrCat("tls.crl: ", revocations_.Summary()));
  }
  return changes;
}

std::vector<std::string> TlsMaterial::Warnings(absl::Time now) const {
  std::vector<std::string> warnings;
  const auto add = [&warnings](const char* setting, const std::string& path,
                               const std::string& what) {
    warnings.push_back(absl::StrCat(setting, ": ", path, ": ", what));
  };
  const auto check = [&](const char* setting, const std::string& path,
                         const Certificate& certificate) {
    const absl::Time end = NotAfter(certificate);
    if (now + kWarnBefore < end) return;
    add(setting, path,
        absl::StrCat("the certificate of ", SubjectOf(certificate),
                     now > end ? " expired at " : " expires at ", DateText(end),
                     "; put a renewed one there, the daemon reads it without a "
                     "restart"));
  };
  for (const Certificate& one : chain_) {
    check("tls.certificate", settings_.certificate, one);
  }
  for (const Certificate& one : authorities_) {
    check("tls.client_ca", settings_.client_ca, one);
    if (!settings_.crl.empty() && !revocations_.Covers(one)) {
      add("tls.crl", settings_.crl,
          absl::StrCat("has no list of ", SubjectOf(one),
                       ", so nothing that it has signed is revoked"));
    }
  }
  if (now > revocations_.next_update()) {
    add("tls.crl", settings_.crl,
        absl::StrCat("a newer list has been due since ",
                     DateText(revocations_.next_update()),
                     "; the daemon knows no later revocation"));
  }
  return warnings;
}

}  // namespace actord::daemon
