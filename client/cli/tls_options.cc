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

absl::StatusOr<std::string> ReadPem(const Setting& setting, const char* what,
                                    const char* mark) {
  if (setting.value.empty()) return "";
  const auto wrong = [&setting](const std::string& why) {
    return UsageError(setting.origin + ": " + setting.value + ": " + why);
  };
  errno = 0;
  std::ifstream file(setting.value, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) {
    return wrong(std::string("cannot be read: ") +
                 std::strerror(errno == 0 ? EIO : errno));
  }
  std::string pem = text.str();
  if (pem.size() > kMaxFileBytes) return wrong("is larger than 1 MiB");
  if (pem.find(mark) == std::string::npos) {
    return wrong(std::string("has no ") + what + " in PEM (" + mark + ")");
  }
  return pem;
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
                 "PEM file with the private key of --tls-certificate "
                 "[$ACTORD_CLIENT_TLS_KEY]")
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
  constexpr const char* kCertificate = "-----BEGIN CERTIFICATE-----";
  auto ca_pem = ReadPem(ca, "certificate", kCertificate);
  if (!ca_pem.ok()) return ca_pem.status();
  auto certificate_pem = ReadPem(certificate, "certificate", kCertificate);
  if (!certificate_pem.ok()) return certificate_pem.status();
  auto key_pem = ReadPem(key, "private key", "PRIVATE KEY-----");
  if (!key_pem.ok()) return key_pem.status();
  return TlsOptions{.ca = *std::move(ca_pem),
                    .certificate = *std::move(certificate_pem),
                    .key = *std::move(key_pem),
                    .server_name = name.value};
}

}  // namespace actord::client
