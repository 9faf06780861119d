// What the daemon does about TLS, and about strangers who reach its addresses.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/daemon.h"
#include "daemon/listening/open_listening.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

absl::Status Daemon::StartTls() {
  if (tls_ == nullptr) return absl::OkStatus();
  tls_offer_ = std::make_unique<TlsOffer>(*tls_);
  if (tls_->wants_client_certificates()) {
    ConnectionRegistry& registry = connections_->registry();
    certificates_ = std::make_unique<PeerCertificates>(
        *tls_,
        ConnectionAccess{.find =
                             [&registry](const std::string& peer) {
                               return registry.FindPeer(peer);
                             },
                         .is_open =
                             [&registry](uint64_t id) {
                               return registry.FindDescriptor(id).has_value();
                             },
                         .cut =
                             [this](uint64_t id, const std::string& subject) {
                               connections_->CutRevoked(id, subject);
                             }},
        runtime::Clock::System());
  }
  return tls_->Start([this](bool has_changed) {
    if (certificates_ != nullptr) certificates_->Tick(has_changed);
  });
}

void Daemon::ReloadTls() {
  if (tls_ != nullptr) tls_->Reload();
}

void Daemon::WarnOfStrangers() {
  if (config_.auth_tokens.empty() && config_.quotas.IsAny()) {
    logger_.Warning(
        "quotas limit nobody: they are of clients with tokens, and auth.tokens "
        "is not set");
  }
  // With authorities of clients there are no strangers.
  if (!config_.tls.client_ca.empty()) return;
  const bool has_tls = !config_.tls.certificate.empty();
  const bool is_enforced = AuthModeInForce(config_) == AuthMode::kEnforce;
  if (has_tls && is_enforced) return;
  const char* const no_tls = "server.insecure_listen is set, there is no TLS";
  for (const std::string& address : OpenAddresses(config_)) {
    logger_.Warning(
        is_enforced
            ? absl::StrCat("tokens reach ", address, " in clear text: ", no_tls)
            : absl::StrCat("anyone who reaches ", address,
                           " can do everything: ",
                           has_tls ? "clients need no certificates "
                                     "(tls.client_ca)"
                                   : no_tls,
                           access_ == nullptr ? ", and there are no tokens"
                                              : ", and auth.mode refuses "
                                                "nothing"));
  }
}

}  // namespace actord::daemon
