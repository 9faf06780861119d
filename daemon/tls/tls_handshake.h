// One TLS handshake: its client, and the version that it has agreed on.
//
// gRPC reports neither. OpenSSL runs a callback for each message of a
// handshake, which learns both. The callback finds the handshake through the
// thread that makes the session (Scope). When the handshake is done, an empty
// function replaces the callback; a connection then costs one call of it for
// each record.
//
// Thread-safety: any thread; a Scope is for one thread. Ownership: OpenSSL's
// session shares the handshake, so it may outlive the connection.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace actord::daemon {

class TlsHandshake {
 public:
  // `peer`: the client, as gRPC's `peer()` spells it.
  explicit TlsHandshake(std::string peer) : peer_(std::move(peer)) {}

  [[nodiscard]] const std::string& peer() const { return peer_; }
  // "TLSv1.3"; null: the handshake is not done. The text lives for ever.
  [[nodiscard]] const char* version() const {
    return version_.load(std::memory_order_relaxed);
  }

  // As long as it lives, the sessions that this thread makes belong to the
  // handshake.
  class Scope {
   public:
    // Null: they belong to no handshake.
    explicit Scope(std::shared_ptr<TlsHandshake> handshake);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  // The peer of the handshake on which this thread has worked last; "": there
  // is none, or that handshake is done. To be called where a failure is
  // reported, on the thread that reports it.
  static std::string LastPeerOfThread();

  // Called by OpenSSL's callback.
  void SetVersion(const char* version) {
    version_.store(version, std::memory_order_relaxed);
  }

 private:
  const std::string peer_;
  // Written once, by the thread that ends the handshake. Relaxed: it points to
  // a constant, and nothing else depends on it.
  std::atomic<const char*> version_{nullptr};
};

}  // namespace actord::daemon
