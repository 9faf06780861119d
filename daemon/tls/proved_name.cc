#include "daemon/tls/proved_name.h"

#include <actord/text.h>
#include <openssl/asn1.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

namespace actord::daemon {
namespace {

using identity::Certificate;

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string_view StringOf(const ASN1_STRING* text) {
  const int size = ASN1_STRING_length(text);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          size > 0 ? static_cast<size_t>(size) : 0};
}

// The first alternative name of the kind; nullopt: there is none.
std::optional<std::string> FirstOf(const GENERAL_NAMES* names, int kind) {
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type != kind) continue;
    return std::string(StringOf(
        kind == GEN_URI ? name->d.uniformResourceIdentifier : name->d.dNSName));
  }
  return std::nullopt;
}

std::string LastCommonName(const Certificate& certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate.get());
  int last = -1;
  for (int next = -1;
       (next = X509_NAME_get_index_by_NID(subject, NID_commonName, last)) >= 0;
       last = next) {
  }
  if (last < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(
      &text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
  if (size < 0) {
    ERR_clear_error();
    return "";
  }
  std::string name(reinterpret_cast<const char*>(text),
                   static_cast<size_t>(size));
  OPENSSL_free(text);
  return name;
}

bool IsFit(std::string_view name) {
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  return !name.empty() && name.size() <= kMaxProvedNameBytes && IsUtf8(name) &&
         std::none_of(name.begin(), name.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < kFirstPrintable || byte == kDelete;
         });
}

}  // namespace

std::string ProvedName(const Certificate& certificate) {
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(
          certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  std::optional<std::string> name = FirstOf(names.get(), GEN_URI);
  if (!name.has_value()) name = FirstOf(names.get(), GEN_DNS);
  if (!name.has_value()) name = LastCommonName(certificate);
  return IsFit(*name) ? *name : "";
}

}  // namespace actord::daemon
