// The thread that accepts connections, refuses those above the limits, and
// hands the others to gRPC.
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
#include "daemon/connections/admission.h"
#include "daemon/connections/connection_counts.h"
#include "daemon/connections/registry.h"
#include "daemon/connections/spaced_warning.h"

namespace actord::daemon {

class Acceptor {
 public:
  // Takes over an accepted connection, which has this id in the registry.
  using HandOver =
      std::function<void(int listener, uint64_t id, int fd, bool is_tcp)>;

  Acceptor(const ConnectionLimits& limits, ConnectionRegistry& registry,
           ConnectionCounts& counts, Logger& logger,
           const runtime::Clock& clock);
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
  // Warns if the first bytes of a connection without TLS, as far as they have
  // arrived, are not HTTP/2. gRPC closes such a connection without a report.
  void WarnOfOtherProtocol(int fd, const std::string& peer);
  Refusal Decide(int fd, const std::string& group);
  void Refuse(Refusal refusal, const std::string& peer);
  void RefuseWithSpare(int listener);

  const ConnectionLimits limits_;
  ConnectionRegistry& registry_;
  ConnectionCounts& counts_;
  const runtime::Clock& clock_;
  SpacedWarning total_warning_;
  SpacedWarning address_warning_;
  SpacedWarning descriptors_warning_;
  SpacedWarning tls_warning_;
  SpacedWarning http1_warning_;
  SpacedWarning garbage_warning_;
  std::vector<char> first_bytes_;
  bool has_tls_ = false;
  HandOver hand_over_;
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
