#include "client/cli/tls_options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/output/exit_status.h"
#include "identity/certificates/x509.h"

namespace actord::client {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

// A setting in force.
struct Setting {
  std::string value;
  std::string origin;  // for messages: "--tls-ca", "$ACTORD_CLIENT_TLS_CA"
};

// The values of a setting at its places; the first one wins.
struct Values {
  const std::string& typed;
  const std::string of_variable;
  const std::string& otherwise;
};

// `option`: "tls-ca".
Setting Find(std::string_view option, const Values& values,
             const std::string& default_origin) {
  const std::string key =
      absl::StrReplaceAll({option.data(), option.size()}, {{"-", "_"}});
  if (!values.typed.empty()) {
    return {values.typed, absl::StrCat("--", std::string(option))};
  }
  if (!values.of_variable.empty()) {
    return {values.of_variable,
            absl::StrCat("$ACTORD_CLIENT_", absl::AsciiStrToUpper(key))};
  }
  return {values.otherwise, absl::StrCat(default_origin, ": ", key)};
}

absl::Status WrongFile(const Setting& setting, const std::string& why) {
  return UsageError(
      absl::StrCat(setting.origin, ": ", setting.value, ": ", why));
}

absl::Status WrongFile(const Setting& setting, const absl::Status& why) {
  return WrongFile(setting, std::string(why.message()));
}

// "" if no file is named.
absl::StatusOr<std::string> ReadFile(const Setting& setting) {
  if (setting.value.empty()) return "";
  errno = 0;
  std::ifstream file(setting.value, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  // A file without a byte sets the state of `text`, too, and is no failure
  // here.
  if (!file || (!text && errno != 0)) {
    return WrongFile(setting, std::string("cannot be read: ") +
                                  std::strerror(errno == 0 ? EIO : errno));
  }
  std::string pem = text.str();
  if (pem.size() > kMaxFileBytes) {
    return WrongFile(setting, "is larger than 1 MiB");
  }
  return pem;
}

struct Settings {
  Setting ca;
  Setting certificate;
  Setting key;
};

// Whether TLS can use the texts. The dates of the certificates are not checked:
// a daemon that asks for no certificate serves a client whose own is expired.
absl::Status Check(const Settings& settings, const TlsOptions& texts) {
  if (settings.ca.value.empty()) return absl::OkStatus();
  const auto authorities = identity::ParseCertificates(texts.ca);
  if (!authorities.ok()) {
    return WrongFile(settings.ca, authorities.status());
  }
  if (settings.certificate.value.empty()) return absl::OkStatus();
  const auto chain = identity::ParseCertificates(texts.certificate);
  if (!chain.ok()) {
    return WrongFile(settings.certificate, chain.status());
  }
  const auto key = identity::ParsePrivateKey(texts.key);
  if (!key.ok()) return WrongFile(settings.key, key.status());
  if (identity::BelongsTo(*key, chain->front())) return absl::OkStatus();
  return WrongFile(
      settings.key,
      absl::StrCat("the key does not belong to the certificate of ",
                   identity::SubjectOf(chain->front()), " in ",
                   settings.certificate.value,
                   ", which must come first in that file"));
}

}  // namespace

void AddTlsOptions(CLI::App& app, TypedTls& typed) {
  app.add_option("--tls-ca", typed.ca,
                 "PEM file with the authority of the daemon's certificate; "
                 "connects with TLS, but to a Unix socket "
                 "[$ACTORD_CLIENT_TLS_CA]")
      ->type_name("FILE");
  app.add_option("--tls-certificate", typed.certificate,
                 "PEM file with the client's certificate, for a daemon that "
                 "requires one [$ACTORD_CLIENT_TLS_CERTIFICATE]")
      ->type_name("FILE");
  app.add_option("--tls-key", typed.key,
                 "PEM file with the private key of --tls-certificate, without "
                 "a passphrase [$ACTORD_CLIENT_TLS_KEY]")
      ->type_name("FILE");
  app.add_option("--tls-server-name", typed.server_name,
                 "Name in the daemon's certificate [the host of --address; "
                 "$ACTORD_CLIENT_TLS_SERVER_NAME]")
      ->type_name("NAME");
}

absl::StatusOr<TlsOptions> ReadTlsOptions(
    const TypedTls& typed,
    const std::function<std::string(const char*)>& variable,
    const DefaultTls& otherwise) {
  const TypedTls& last = otherwise.tls;
  const std::string& origin = otherwise.origin;
  const Setting ca = Find(
      "tls-ca", {typed.ca, variable("ACTORD_CLIENT_TLS_CA"), last.ca}, origin);
  const Setting certificate =
      Find("tls-certificate",
           {typed.certificate, variable("ACTORD_CLIENT_TLS_CERTIFICATE"),
            last.certificate},
           origin);
  const Setting key =
      Find("tls-key", {typed.key, variable("ACTORD_CLIENT_TLS_KEY"), last.key},
           origin);
  const Setting name =
      Find("tls-server-name",
           {typed.server_name, variable("ACTORD_CLIENT_TLS_SERVER_NAME"),
            last.server_name},
           origin);
  for (const Setting& other : {certificate, key, name}) {
    if (!other.value.empty() && ca.value.empty()) {
      return UsageError(other.origin +
                        " needs --tls-ca, the authority of the daemon's "
                        "certificate; without it there is no TLS");
    }
  }
  if (certificate.value.empty() != key.value.empty()) {
    const bool has_key = certificate.value.empty();
    return UsageError((has_key ? key : certificate).origin + " needs " +
                      (has_key ? "--tls-certificate" : "--tls-key") +
                      ": a certificate and its key go together");
  }
  auto ca_pem = ReadFile(ca);
  if (!ca_pem.ok()) return ca_pem.status();
  auto certificate_pem = ReadFile(certificate);
  if (!certificate_pem.ok()) return certificate_pem.status();
  auto key_pem = ReadFile(key);
  if (!key_pem.ok()) return key_pem.status();
  TlsOptions options{.ca = *std::move(ca_pem),
                     .certificate = *std::move(certificate_pem),
                     .key = *std::move(key_pem),
                     .server_name = name.value};
  if (const absl::Status status = Check({ca, certificate, key}, options);
      !status.ok()) {
    return status;
  }
  return options;
}

}  // namespace actord::client
