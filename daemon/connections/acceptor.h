// The thread that accepts connections, refuses those above the limits, and
// hands the others to gRPC when their clients speak (first_bytes.h).
//
// A refused connection is accepted and closed at once, so that its client
// notices. When there are no descriptors, the thread gives up one spare
// descriptor for a moment, to accept and close.
//
// The guard cuts a flooding connection, but gRPC cleans up its calls slowly. A
// client that connects again at once would add calls faster than gRPC frees
// them. For TCP the guard counts the calls before gRPC reads them, and for Unix
// sockets it cannot do so in time. So the thread stops accepting from a Unix
// socket while gRPC still holds several of its cut connections. The others wait
// in the kernel's queue.
//
// Thread-safety: Start, TurnAway, Stop and the destructor are for one thread.
// Ownership: owns the thread; borrows everything else.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/connections/admission.h"
#include "daemon/connections/connection_counts.h"
#include "daemon/connections/first_bytes.h"
#include "daemon/connections/registry.h"
#include "daemon/log/spaced_warning.h"

namespace actord::daemon {

class Acceptor {
 public:
  // Takes over an accepted connection, which has this id in the registry, when
  // its first bytes have arrived.
  using HandOver =
      std::function<void(int listener, uint64_t id, int fd, bool is_tcp)>;

  // `patience`: a connection whose client says nothing is closed after it.
  Acceptor(const ConnectionLimits& limits, absl::Duration patience,
           ConnectionRegistry& registry, ConnectionCounts& counts,
           Logger& logger, const runtime::Clock& clock);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // `listeners` are listening sockets that do not block. `has_tls`: TCP
  // connections begin with a TLS handshake. INTERNAL: the system has no thread
  // or no descriptor left.
  absl::Status Start(const std::vector<int>& listeners, bool has_tls,
                     HandOver hand_over);
  // From now on each connection is accepted and closed at once, but from the
  // `abandoned` listeners none is accepted any more. No connection is handed
  // over when TurnAway has returned. A second call does nothing.
  void TurnAway(std::vector<int> abandoned = {});
  // The thread has ended when Stop has returned.
  void Stop();

 private:
  struct PausedListener {
    int fd = -1;
    uint64_t until_ns = 0;  // accepts one connection then in any case
  };

  enum class Order { kServe, kTurnAway, kStop };

  void Run();
  // Gives the thread an order.
  void Give(Order order);
  // Carries out the order that Give has set. False: the thread ends.
  bool Obey();
  // Accepts the waiting connections and closes them.
  void TurnAwayFrom(int listener);
  // Whether new connections have to wait until gRPC has closed the cut ones.
  bool IsFlooded(int listener);
  // Stops and resumes accepting from a listener.
  void SetAccepting(int listener, bool is_accepting);
  // Resumes accepting from the Unix sockets whose flood is over.
  void ResumePaused();
  // Accepts the waiting connections, up to a limit.
  void AcceptFrom(int listener);
  // Accepts a connection. False: none waits, or the system refuses it.
  bool AcceptOne(int listener);
  void Take(int listener, int fd, const sockaddr_storage& address);
  Refusal Decide(int fd, const std::string& group);
  void Refuse(Refusal refusal, const std::string& peer);
  void RefuseWithSpare(int listener);

  const ConnectionLimits limits_;
  const absl::Duration patience_;
  ConnectionRegistry& registry_;
  ConnectionCounts& counts_;
  const runtime::Clock& clock_;
  SpacedWarning total_warning_;
  SpacedWarning address_warning_;
  SpacedWarning descriptors_warning_;
  FirstBytes first_bytes_;
  bool has_tls_ = false;
  std::vector<PausedListener> paused_;
  int epoll_ = -1;
  int order_event_ = -1;
  // Written before `order_event_`, which wakes the thread that reads it.
  std::atomic<Order> order_{Order::kServe};
  std::vector<int> abandoned_;     // set before kTurnAway
  std::promise<void> turns_away_;  // kept by the thread, after kTurnAway
  bool is_turning_away_ = false;   // used only by the thread
  int spare_ = -1;
  uint64_t next_sweep_ns_ = 0;
  std::thread thread_;
};

}  // namespace actord::daemon
