#include "daemon/tls/tls_handshake.h"

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

// OpenSSL calls it for each record that is sent or received. It cannot be null,
// because OpenSSL checks once whether there is a callback, and may then call it
// twice.
void Ignore(int /*is_write*/, int /*version*/, int /*content_type*/,
            const void* /*bytes*/, size_t /*size*/, SSL* /*session*/,
            void* /*argument*/) {}

void OnMessage(int /*is_write*/, int /*version*/, int /*content_type*/,
               const void* /*bytes*/, size_t /*size*/, SSL* session,
               void* argument) {
  Shared& handshake = *static_cast<Shared*>(argument);
  if (!SSL_is_init_finished(session)) {
    if (Last() != handshake) Last() = handshake;
    return;
  }
  handshake->SetVersion(SSL_get_version(session));
  SSL_set_msg_callback(session, Ignore);
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

void OnFreeSession(void* /*parent*/, void* slot, CRYPTO_EX_DATA* /*data*/,
                   int /*index*/, long /*number*/, void* /*argument*/) {
  delete static_cast<Shared*>(slot);
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

std::string TlsHandshake::LastPeerOfThread() {
  const Shared last = std::exchange(Last(), nullptr);
  return last == nullptr || last->version() != nullptr ? std::string()
                                                       : last->peer();
}

}  // namespace actord::daemon
