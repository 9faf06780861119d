#include "tests/identity/certificates/issued.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <utility>

namespace actord::identity {
namespace {

void Require(bool is_true) {
  if (!is_true) std::abort();
}

long NextSerial() {
  static long last = 1000;
  return ++last;
}

template <typename Write>
std::string ToPem(Write write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  Require(write(bio) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

std::string KeyPem(EVP_PKEY* key) {
  return ToPem([key](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr,
                                    nullptr);
  });
}

void SetTime(ASN1_TIME* out, absl::Time time) {
  Require(ASN1_TIME_set(out, absl::ToTimeT(time)) != nullptr);
}

void AddName(X509_NAME* name, const std::string& common_name) {
  Require(X509_NAME_add_entry_by_txt(
              name, "CN", MBSTRING_UTF8,
              reinterpret_cast<const unsigned char*>(common_name.data()),
              static_cast<int>(common_name.size()), -1, 0) == 1);
}

void AddExtension(X509* certificate, X509* issuer, int nid,
                  const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension != nullptr);
  Require(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// `issuer` null: signs itself.
Issued Make(const Wanted& wanted, const Issued* issuer) {
  const PrivateKey key(wanted.rsa_bits == 0 ? EVP_EC_gen("P-256")
                                            : EVP_RSA_gen(wanted.rsa_bits));
  Require(key != nullptr);
  const Certificate certificate(X509_new());
  Issued issued;
  issued.serial = NextSerial();
  X509* const raw = certificate.get();
  X509_set_version(raw, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(raw), issued.serial);
  SetTime(X509_getm_notBefore(raw), wanted.begin);
  SetTime(X509_getm_notAfter(raw), wanted.end);
  if (wanted.common_names.empty()) {
    if (!wanted.common_name.empty()) {
      AddName(X509_get_subject_name(raw), wanted.common_name);
    }
  }
  for (const std::string& name : wanted.common_names) {
    AddName(X509_get_subject_name(raw), name);
  }
  X509_set_pubkey(raw, key.get());
  const Certificate signer_certificate =
      issuer == nullptr ? nullptr : issuer->parsed();
  X509* const signer = issuer == nullptr ? raw : signer_certificate.get();
  X509_set_issuer_name(raw, X509_get_subject_name(signer));
  if (wanted.is_authority) {
    AddExtension(raw, signer, NID_basic_constraints, "critical,CA:TRUE");
  }
  if (!wanted.alternative_names.empty()) {
    AddExtension(raw, signer, NID_subject_alt_name, wanted.alternative_names);
  }
  PrivateKey signer_key;
  if (issuer != nullptr) signer_key = *ParsePrivateKey(issuer->key);
  Require(X509_sign(raw, issuer == nullptr ? key.get() : signer_key.get(),
                    EVP_sha256()) > 0);
  issued.certificate =
      ToPem([raw](BIO* bio) { return PEM_write_bio_X509(bio, raw); });
  issued.key = KeyPem(key.get());
  return issued;
}

}  // namespace

std::string WithPassphrase(const std::string& key) {
  const PrivateKey parsed = *ParsePrivateKey(key);
  const unsigned char passphrase[] = "secret";
  return ToPem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, parsed.get(), EVP_aes_128_cbc(),
                                    passphrase, sizeof passphrase - 1, nullptr,
                                    nullptr);
  });
}

Certificate Issued::parsed() const {
  return std::move(ParseCertificates(certificate)->front());
}

Authority::Authority(const std::string& name, const Wanted& wanted) {
  Wanted own = wanted;
  own.common_name = name;
  own.is_authority = true;
  own_ = Make(own, nullptr);
}

Issued Authority::Issue(const Wanted& wanted) { return Make(wanted, &own_); }

Authority Authority::IssueAuthority(const std::string& name,
                                    const Wanted& wanted) {
  Wanted own = wanted;
  own.common_name = name;
  own.is_authority = true;
  return Authority(Make(own, &own_));
}

std::string Authority::Revoke(const List& list) const {
  const Crl crl(X509_CRL_new());
  X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2);
  const Certificate own = own_.parsed();
  X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(own.get()));
  ASN1_TIME* const time = ASN1_TIME_new();
  SetTime(time, list.begin);
  X509_CRL_set1_lastUpdate(crl.get(), time);
  if (list.end != absl::InfiniteFuture()) {
    SetTime(time, list.end);
    X509_CRL_set1_nextUpdate(crl.get(), time);
  }
  ASN1_INTEGER* const number = ASN1_INTEGER_new();
  SetTime(time, list.begin);
  for (const long serial : list.serials) {
    X509_REVOKED* const revoked = X509_REVOKED_new();
    ASN1_INTEGER_set(number, serial);
    X509_REVOKED_set_serialNumber(revoked, number);
    X509_REVOKED_set_revocationDate(revoked, time);
    Require(X509_CRL_add0_revoked(crl.get(), revoked) == 1);
  }
  if (list.is_delta) {
    ASN1_INTEGER_set(number, 1);
    Require(X509_CRL_add1_ext_i2d(crl.get(), NID_delta_crl, number, 1, 0) == 1);
  }
  ASN1_INTEGER_free(number);
  ASN1_TIME_free(time);
  X509_CRL_sort(crl.get());
  const PrivateKey key = *ParsePrivateKey(own_.key);
  Require(X509_CRL_sign(crl.get(), key.get(), EVP_sha256()) > 0);
  return ToPem(
      [&crl](BIO* bio) { return PEM_write_bio_X509_CRL(bio, crl.get()); });
}

}  // namespace actord::identity
