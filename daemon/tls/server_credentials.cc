#include "daemon/tls/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>

namespace actord::daemon {
namespace {

// Called by gRPC at the start and at each handshake.
grpc_ssl_certificate_config_reload_status Fetch(
    void* user_data, grpc_ssl_server_certificate_config** config) {
  auto& offer = *static_cast<TlsOffer*>(user_data);
  std::shared_ptr<const TlsMaterial> material = offer.reloader.current();
  const absl::MutexLock lock(&offer.mutex);
  if (material == offer.given) {
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  }
  const TlsTexts& texts = material->texts();
  const grpc_ssl_pem_key_cert_pair pair{
      .private_key = texts.key.c_str(),
      .cert_chain = texts.certificate.c_str()};
  // gRPC aborts without authorities. If it does not ask clients for a
  // certificate, it does not use them, so any certificate will do.
  const std::string& authorities =
      texts.client_ca.empty() ? texts.certificate : texts.client_ca;
  *config =
      grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
  offer.given = std::move(material);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

class TlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit TlsCredentials(TlsOffer& offer)
      : offer_(offer),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                offer.reloader.wants_client_certificates()
                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                Fetch, &offer))) {}
  ~TlsCredentials() override { grpc_server_credentials_release(credentials_); }
  TlsCredentials(const TlsCredentials&) = delete;
  TlsCredentials& operator=(const TlsCredentials&) = delete;

  // A processor would see the metadata of every call; CallGate does.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/)
      override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    const int port =
        grpc_server_add_http2_port(server, address.c_str(), credentials_);
    const absl::MutexLock lock(&offer_.mutex);
    // External connections have the port 0, and so has a failure.
    offer_.is_taken = offer_.given != nullptr;
    return port;
  }

  TlsOffer& offer_;
  grpc_server_credentials* const credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(TlsOffer& offer) {
  return std::make_shared<TlsCredentials>(offer);
}

bool IsTaken(TlsOffer& offer) {
  const absl::MutexLock lock(&offer.mutex);
  return offer.is_taken;
}

}  // namespace actord::daemon
