// One TLS handshake: its client, and the version that it has agreed on.
//
// gRPC reports neither. OpenSSL runs a callback for each message of a
// handshake, which learns both. The callback finds the handshake through the
// thread that makes the session (Scope). When the handshake is done, an empty
// function replaces the callback; a connection then costs one call of it for
// each record.
//
// gRPC also closes connections without a report. Their handshakes report the
// reason when OpenSSL frees the session (UnservedReason), through the log of
// gRPC, which spaces lines of one kind.
//
// Thread-safety: any thread; a Scope is for one thread. Ownership: OpenSSL's
// session shares the handshake, so it may outlive the connection; borrows the
// clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

// The reasons that only TlsHandshake reports, after "Handshake failed: "
// (handshake_errors.h).
namespace unserved {
inline constexpr char kLate[] = "no end within the handshake timeout";
inline constexpr char kNoHttp2[] = "no HTTP/2 among its protocols (ALPN)";
inline constexpr char kOtherBytes[] = "other bytes than those of HTTP/2";
inline constexpr char kSilent[] = "no byte of HTTP/2 in time";
inline constexpr char kRenegotiation[] = "renegotiation refused";
}  // namespace unserved

class TlsHandshake {
 public:
  // `peer`: the client, as gRPC's `peer()` spells it. `patience`: gRPC closes
  // the connection when the client has not finished the handshake and sent its
  // settings after this time.
  explicit TlsHandshake(std::string peer,
                        absl::Duration patience = absl::InfiniteDuration(),
                        const runtime::Clock& clock = runtime::Clock::System())
      : peer_(std::move(peer)),
        patience_(patience),
        clock_(clock),
        since_ns_(clock.MonotonicNs()) {}

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
  // reported, on the thread that reports it. The handshake counts as reported.
  static std::string LastPeerOfThread();

  // The records after the handshake, until the daemon has answered the client.
  // gRPC acknowledges the settings of a client of HTTP/2, and answers no other
  // bytes. Its own settings, which it sends before or with that, are no answer.
  struct Records {
    bool has_client_spoken = false;
    bool has_daemon_answered = false;
  };
  // Why a connection was not served; null: it was served, or the client itself
  // has ended it. `is_done`: the handshake is. `has_http2`: both sides have
  // agreed on HTTP/2 in it.
  static const char* UnservedReason(bool is_done, bool has_http2, bool is_late,
                                    const Records& records);

  // For OpenSSL's callbacks, which run for one thread at a time.
  void SetVersion(const char* version) {
    version_.store(version, std::memory_order_relaxed);
  }
  Records& records() { return records_; }
  [[nodiscard]] bool is_late() const {
    return absl::Nanoseconds(clock_.MonotonicNs() - since_ns_) >= patience_;
  }
  // True: this call is the first one.
  bool SetReported() {
    return !is_reported_.exchange(true, std::memory_order_relaxed);
  }

 private:
  const std::string peer_;
  const absl::Duration patience_;
  const runtime::Clock& clock_;
  const uint64_t since_ns_;
  Records records_;
  // Relaxed: a line more or less does no harm.
  std::atomic<bool> is_reported_{false};
  // Written once, by the thread that ends the handshake. Relaxed: it points to
  // a constant, and nothing else depends on it.
  std::atomic<const char*> version_{nullptr};
};

}  // namespace actord::daemon
