#include "daemon/tls/handshake_errors.h"

#include "absl/strings/str_cat.h"
#include "daemon/log/client_address.h"
#include "daemon/tls/tls_handshake.h"

namespace actord::daemon {
namespace {

// Reasons of OpenSSL: the ends of its error texts.
constexpr struct {
  const char* reason;
  const char* text;
} kReasons[] = {
    {"http request", "it spoke HTTP/1.1 without TLS"},
    {"wrong version number",
     "it spoke no TLS, for example gRPC without TLS; give it --tls-ca"},
    {"unsupported protocol",
     "it spoke an old version; TLS 1.2 and 1.3 are served"},
    {"no shared cipher", "it offered no cipher that is served"},
    {"peer did not return a certificate",
     "it presented no certificate, and tls.client_ca requires one; give it "
     "--tls-certificate and --tls-key"},
    {"certificate verify failed",
     "its certificate is expired or is not of an authority in tls.client_ca"},
    {"unknown ca",
     "it does not trust the daemon's certificate; give it the authority as "
     "--tls-ca"},
    {"certificate unknown",
     "it does not accept the daemon's certificate; compare the authority and "
     "the name that it expects"},
    {"bad certificate",
     "it does not accept the daemon's certificate; compare the authority and "
     "the name that it expects"},
    {"certificate expired", "it says that the daemon's certificate is expired"},
    {unserved::kLate, "it did not finish within connections.handshake_timeout"},
    {unserved::kNoHttp2,
     "it does not offer HTTP/2 (h2 by ALPN), for example because it speaks "
     "HTTP/1.1 over TLS; use actorctl or a client of gRPC"},
};

// Reasons that come after the handshake, and are no failure of it.
constexpr struct {
  const char* reason;
  const char* text;
} kLaterReasons[] = {
    {unserved::kOtherBytes,
     "closed: its TLS handshake agreed on HTTP/2, and then it sent other "
     "bytes, for example HTTP/1.1 over TLS; use actorctl or a client of gRPC"},
    {unserved::kSilent,
     "closed: after its TLS handshake it sent nothing within "
     "connections.handshake_timeout; a client speaks first, in HTTP/2"},
    {unserved::kRenegotiation,
     "asked for a renegotiation of TLS, and was refused: the daemon never "
     "renegotiates; let the client connect again"},
};

}  // namespace

std::optional<ExplainedLine> ExplainHandshake(std::string_view line,
                                              const std::string& peer) {
  constexpr std::string_view kHandshake = "Handshake failed";
  if (line.find(kHandshake) == std::string_view::npos) return std::nullopt;
  const std::string who =
      peer.empty() ? std::string("a client") : ClientAddress(peer);
  for (const auto& [reason, text] : kLaterReasons) {
    if (!line.ends_with(reason)) continue;
    return ExplainedLine{
        .kind = absl::StrCat("TLS: ", text),
        .text = absl::StrCat("connection of ", who, " ", text)};
  }
  // A reason that is not in this table is a kind of its own.
  std::string why(line);
  for (const auto& [reason, text] : kReasons) {
    if (line.find(reason) != std::string_view::npos) {
      why = text;
      break;
    }
  }
  return ExplainedLine{
      .kind = absl::StrCat("TLS handshake: ", why),
      .text = absl::StrCat("TLS handshake of ", who, " failed: ", why)};
}

std::optional<ExplainedLine> ExplainHandshakeOfThread(std::string_view line) {
  auto explained = ExplainHandshake(line, "");
  if (!explained.has_value()) return explained;
  return ExplainHandshake(line, TlsHandshake::LastPeerOfThread());
}

}  // namespace actord::daemon
