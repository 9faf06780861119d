#include "daemon/tls/tls_handshake.h"

#include <grpc/support/log.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>

namespace actord::daemon {
namespace {

using Shared = std::shared_ptr<TlsHandshake>;

// The handshake of this thread's current scope.
Shared& Current() {
  thread_local Shared current;
  return current;
}

// The handshake whose message this thread has seen last.
Shared& Last() {
  thread_local Shared last;
  return last;
}

// The handshake about which this thread reports at the moment.
Shared& Reported() {
  thread_local Shared reported;
  return reported;
}

// `handshake` reports through the log of gRPC, which is there as long as
// sessions may end.
void Report(const Shared& handshake, const char* reason) {
  if (!handshake->SetReported()) return;
  Reported() = handshake;
  gpr_log(__FILE__, __LINE__, GPR_LOG_SEVERITY_ERROR, "Handshake failed: %s",
          reason);
  Reported() = nullptr;
}

// OpenSSL calls it for each record that is sent or received. It cannot be null,
// because OpenSSL checks once whether there is a callback, and may then call it
// twice.
void OnRecord(int is_write, int /*version*/, int content_type,
              const void* bytes, size_t size, SSL* /*session*/,
              void* argument) {
  if (content_type != SSL3_RT_ALERT || is_write == 0 || size < 2) return;
  if (static_cast<const uint8_t*>(bytes)[1] == SSL_AD_NO_RENEGOTIATION) {
    Report(*static_cast<Shared*>(argument), unserved::kRenegotiation);
  }
}

// Whether OpenSSL calls a callback with these arguments for a record of the
// protocol above TLS. TLS 1.3 hides the type of each record in its content.
bool IsOfApplication(int content_type, const void* bytes, const SSL* session) {
  const int begin = SSL_version(session) == TLS1_3_VERSION
                        ? SSL3_RT_INNER_CONTENT_TYPE
                        : SSL3_RT_HEADER;
  return content_type == begin &&
         *static_cast<const uint8_t*>(bytes) == SSL3_RT_APPLICATION_DATA;
}

void OnMessage(int is_write, int version, int content_type, const void* bytes,
               size_t size, SSL* session, void* argument) {
  // OpenSSL refuses a renegotiation within a handshake that it gives up.
  OnRecord(is_write, version, content_type, bytes, size, session, argument);
  Shared& handshake = *static_cast<Shared*>(argument);
  if (!SSL_is_init_finished(session)) {
    if (Last() != handshake) Last() = handshake;
    return;
  }
  handshake->SetVersion(SSL_get_version(session));
  TlsHandshake::Records& records = handshake->records();
  if (IsOfApplication(content_type, bytes, session)) {
    if (is_write == 0) records.has_client_spoken = true;
    if (is_write != 0 && records.has_client_spoken) {
      records.has_daemon_answered = true;
      SSL_set_msg_callback(session, OnRecord);
    }
  }
}

// Called for each new session of the program.
void OnNewSession(void* parent, void* /*slot*/, CRYPTO_EX_DATA* data, int index,
                  long /*number*/, void* /*argument*/) {
  if (Current() == nullptr) return;
  auto* const handshake = new Shared(Current());
  if (CRYPTO_set_ex_data(data, index, handshake) == 0) {
    delete handshake;
    return;
  }
  auto* const session = static_cast<SSL*>(parent);
  SSL_set_msg_callback(session, OnMessage);
  SSL_set_msg_callback_arg(session, handshake);
}

bool HasHttp2(const SSL* session) {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(session, &name, &size);
  return size > 0;
}

void OnFreeSession(void* parent, void* slot, CRYPTO_EX_DATA* /*data*/,
                   int /*index*/, long /*number*/, void* /*argument*/) {
  if (slot == nullptr) return;
  const std::unique_ptr<Shared> owned(static_cast<Shared*>(slot));
  const auto* const session = static_cast<const SSL*>(parent);
  TlsHandshake& handshake = **owned;
  const char* const reason = TlsHandshake::UnservedReason(
      SSL_is_init_finished(session) != 0, HasHttp2(session),
      handshake.is_late(), handshake.records());
  if (reason != nullptr) Report(*owned, reason);
}

void WatchSessions() {
  // -1, if there is no memory: then versions and peers stay unknown.
  static const int index = CRYPTO_get_ex_new_index(
      CRYPTO_EX_INDEX_SSL, 0, nullptr, OnNewSession, nullptr, OnFreeSession);
  static_cast<void>(index);
}

}  // namespace

TlsHandshake::Scope::Scope(std::shared_ptr<TlsHandshake> handshake) {
  if (handshake != nullptr) WatchSessions();
  Current() = std::move(handshake);
}

TlsHandshake::Scope::~Scope() { Current() = nullptr; }

const char* TlsHandshake::UnservedReason(bool is_done, bool has_http2,
                                         bool is_late, const Records& records) {
  if (!is_done) return is_late ? unserved::kLate : nullptr;
  if (!has_http2) return unserved::kNoHttp2;
  if (records.has_daemon_answered) return nullptr;
  if (records.has_client_spoken) return unserved::kOtherBytes;
  return is_late ? unserved::kSilent : nullptr;
}

std::string TlsHandshake::LastPeerOfThread() {
  if (Reported() != nullptr) return Reported()->peer();
  const Shared last = std::exchange(Last(), nullptr);
  if (last == nullptr || last->version() != nullptr) return {};
  last->SetReported();
  return last->peer();
}

}  // namespace actord::daemon
