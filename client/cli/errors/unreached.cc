#include "client/cli/errors/unreached.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/calls/error.h"
#include "client/output/text.h"
#include "identity/certificates/x509.h"

namespace actord::client {
namespace {

constexpr std::string_view kNextStep =
    "Is actord running there? --address, $ACTORD_ADDRESS or a context "
    "(actorctl context list) names the daemon";
// gRPC's own texts.
constexpr std::string_view kDeadlineOfCall = "Deadline Exceeded";
constexpr std::string_view kAnswersHttp2 = "http2 header with status";
constexpr std::string_view kClosed =
    "the daemon closed the connection; it may have ended: see its log";

// Why a certificate of the client's file is not valid now; "": all are.
std::string WhyCertificateIsNotValid(const std::string& pem) {
  const auto chain = identity::ParseCertificates(pem);
  if (!chain.ok()) return "";
  for (const identity::Certificate& one : *chain) {
    std::string why = identity::WhyNotNow(one, absl::Now());
    if (!why.empty()) return why;
  }
  return "";
}

bool IsUnix(const Endpoint& endpoint) {
  return endpoint.address.starts_with("unix:");
}

// A text for people in place of a text of gRPC or of the system.
struct Translation {
  std::vector<std::string_view> said;
  std::string_view meant;
};

// The first one of whose texts one is said; "": none.
std::string_view Translated(const std::vector<Translation>& translations,
                            std::string_view message) {
  for (const Translation& one : translations) {
    if (std::any_of(one.said.begin(), one.said.end(),
                    [message](std::string_view text) {
                      return message.find(text) != std::string_view::npos;
                    })) {
      return one.meant;
    }
  }
  return "";
}

// The reasons for which nothing was reached at the address.
std::string_view WhyNothingThere(const Endpoint& endpoint,
                                 std::string_view message) {
  static const auto& of_unix = *new std::vector<Translation>{
      {{"Connection refused"},
       "the connection is refused: the socket is there, and no program listens "
       "on it"},
      {{"No such file or directory"}, "there is no such socket"},
      {{"Permission denied"},
       "permission denied: the mode and the group of the socket "
       "(server.unix_mode, server.unix_group) exclude this user"}};
  static const auto& of_tcp = *new std::vector<Translation>{
      {{"Connection refused"},
       "the connection is refused: no program listens at this address"},
      {{"No route to host", "Network is unreachable", "Host is down"},
       "there is no route to the host"},
      {{"DNS resolution failed", "Domain name not found",
        "Name or service not known"},
       "the name of the host cannot be resolved"}};
  static const auto& of_both = *new std::vector<Translation>{
      {{"timed out", "imeout occurred", kDeadlineOfCall},
       "timed out: nothing has answered in time"}};
  const std::string_view meant =
      Translated(IsUnix(endpoint) ? of_unix : of_tcp, message);
  return meant.empty() ? Translated(of_both, message) : meant;
}

std::string WhyClosed(const Endpoint& endpoint) {
  std::string closed(kClosed);
  if (IsUnix(endpoint)) return closed;
  if (!endpoint.has_tls()) {
    return closed + "; if the daemon serves TLS, give --tls-ca";
  }
  if (endpoint.tls.certificate.empty()) {
    return closed +
           "; if the daemon requires a certificate, give --tls-certificate and "
           "--tls-key";
  }
  const std::string why = WhyCertificateIsNotValid(endpoint.tls.certificate);
  if (!why.empty()) {
    return "the daemon closed the connection; --tls-certificate: " + why;
  }
  return closed +
         "; if the daemon does not accept the certificate, give one of an "
         "authority in its tls.client_ca";
}

// Something answers, and it does not speak as this client does.
std::string WhyNotUnderstood(const Endpoint& endpoint,
                             std::string_view message) {
  static const auto& with_tls = *new std::vector<Translation>{
      {{"certificate verify failed"},
       "--tls-ca is not the authority of the daemon's certificate, or that "
       "certificate is expired"},
      {{"is not in peer certificate"},
       "the daemon's certificate is of another name: give one of its names as "
       "--tls-server-name"},
      {{"wrong version number"}, "it answers without TLS: leave --tls-ca out"},
      {{"empty address list"},
       "--tls-certificate or --tls-ca is not safe to use: give certificates "
       "with a key of 2048 bits (RSA) or of a curve such as P-256, and "
       "SHA-256"}};
  static const auto& always = *new std::vector<Translation>{
      {{"http1.x server", "HTTP/1."},
       "it answers HTTP/1.1 and not gRPC: this may be the admin port "
       "(admin.listen) instead of server.listen"},
      {{kAnswersHttp2},
       "it answers HTTP/2 and not gRPC: this is another program, or a proxy "
       "that has not reached the daemon"}};
  if (endpoint.has_tls()) {
    const std::string_view meant = Translated(with_tls, message);
    if (!meant.empty()) return std::string(meant);
  }
  const std::string_view meant = Translated(always, message);
  if (!meant.empty()) return std::string(meant);
  if (message.find("Socket closed") == std::string_view::npos &&
      message.find("reset by peer") == std::string_view::npos) {
    return "";
  }
  return WhyClosed(endpoint);
}

struct Reason {
  std::string text;
  // Something answers at the address.
  bool is_answered = false;
};

Reason FindReason(const Endpoint& endpoint, const absl::Status& status) {
  const std::string message(status.message());
  const std::string not_understood = WhyNotUnderstood(endpoint, message);
  if (!not_understood.empty()) return {not_understood, true};
  const std::string_view nothing = WhyNothingThere(endpoint, message);
  if (!nothing.empty()) return {std::string(nothing)};
  return {message.empty() ? absl::StatusCodeToString(status.code())
                          : OneLine(message)};
}

}  // namespace

std::string DescribeUnreached(const Endpoint& endpoint,
                              const absl::Status& status) {
  return absl::StrCat(endpoint.address, ": ",
                      FindReason(endpoint, status).text);
}

std::string DescribeBreak(const Endpoint& endpoint,
                          const absl::Status& status) {
  if (DetailsOf(status).reason.empty()) {
    return "no connection to the daemon at " +
           DescribeUnreached(endpoint, status);
  }
  return absl::StrCat("the daemon at ", endpoint.address,
                      IsRefusal(status) ? " refuses: " : " is not available: ",
                      OneLine(std::string(status.message())));
}

bool IsRefusal(const absl::Status& status) {
  return !absl::IsUnavailable(status) && !DetailsOf(status).reason.empty();
}

bool IsUnreached(const absl::Status& status) {
  return DetailsOf(status).reason.empty() &&
         (absl::IsUnavailable(status) ||
          std::string(status.message()).find(kAnswersHttp2) !=
              std::string::npos);
}

bool IsDeadlineOfCall(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) &&
         status.message() ==
             absl::string_view(kDeadlineOfCall.data(), kDeadlineOfCall.size());
}

std::string CannotReach(const Endpoint& endpoint, const absl::Status& status) {
  const Reason reason = FindReason(endpoint, status);
  std::string text = absl::StrCat("cannot reach the daemon at ",
                                  endpoint.address, ": ", reason.text);
  if (!reason.is_answered) {
    absl::StrAppend(&text, ". ",
                    absl::string_view(kNextStep.data(), kNextStep.size()));
  }
  return text;
}

}  // namespace actord::client
