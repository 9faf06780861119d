#include "daemon/connections/guard_policy.h"

#include <algorithm>

#include "daemon/connections/http2_frames.h"

namespace actord::daemon {
namespace {

// Allowance for calls that have ended, and that gRPC has not cleaned up.
constexpr uint64_t kMinSlack = 256;
// Few calls left: the daemon keeps up with the client.
constexpr uint64_t kQuietCalls = 64;
// Unread calls from which on each tick examines a connection.
constexpr uint64_t kSuspectCalls = 100;
// Calls that handlers have read of a client that does not flood.
constexpr uint64_t kProvedCalls = 100;
constexpr uint64_t kTurnNs = 1'000'000'000;
constexpr uint64_t kMaxIdleBytesFirst = 512 << 10;
// A busy gRPC may read more than 2 MiB of an honest client's first message
// before it answers anything. So a minimum time is required, too.
constexpr uint64_t kMinIdleNsFirst = 400'000'000;
// The bytes that every client gets: the first frame (first_bytes.h), and from
// gRPC settings, a window update and the acknowledgement of the client's
// settings, 61 bytes. The next frame, a window update for a message, has 13.
// The acknowledgement, 9 bytes, may come behind it. A TLS handshake alone
// exceeds kGreetingBytes, so the daemon counts as having answered every
// encrypted connection. That is intended: encrypted bytes show nothing, and
// kMaxIdleBytesFirst could cut an honest upload.
// tests/e2e/attacks/flood_test.py tests both sides.
constexpr uint64_t kGreetingBytes = 64 + kOneSettingBytes;

}  // namespace

GuardLimits GuardLimitsFor(int max_concurrent_streams,
                           uint64_t max_request_bytes) {
  const auto allowed = static_cast<uint64_t>(max_concurrent_streams);
  const uint64_t slack = std::max(kMinSlack, allowed / 4);
  // A client may cancel all of its calls and open as many at once, before the
  // daemon has read the first ones.
  return {.max_unread_calls = 2 * allowed + slack,
          // It may do so twice before the daemon has cleaned up the first
          // calls.
          .max_left_calls = 4 * allowed + slack,
          .max_idle_bytes_first = kMaxIdleBytesFirst,
          .max_idle_bytes = 2 * max_request_bytes};
}

uint64_t MaxResetsOfEach(const GuardLimits& limits, uint64_t suspects) {
  const uint64_t share =
      kSharers * limits.max_unread_calls / std::max(suspects, kSharers);
  return std::max(share, kSuspectResets);
}

void RecentCount::Turn(uint64_t now_ns) {
  if (now_ns - turn_ns_ < kTurnNs) return;
  before_ = now_ns - turn_ns_ < 2 * kTurnNs ? now_ : 0;
  now_ = 0;
  turn_ns_ = now_ns;
}

void RecentCount::Add(uint64_t now_ns) {
  Turn(now_ns);
  ++now_;
}

uint64_t RecentCount::Get(uint64_t now_ns) {
  Turn(now_ns);
  return now_ + before_;
}

Verdict ConnectionHistory::Judge(const GuardLimits& limits,
                                 const Observation& now) {
  const SocketCounts& counts = now.counts;
  const bool is_idle = counts.started == last_.counts.started &&
                       counts.received == last_.counts.received &&
                       counts.sent == last_.counts.sent &&
                       now.traffic.sent_bytes == last_.traffic.sent_bytes;
  // Bytes that gRPC has not read yet show only how far the daemon is behind.
  // They are not held against the client.
  const uint64_t read_bytes =
      std::max(now.traffic.read_bytes, last_.traffic.read_bytes);
  idle_bytes_ =
      is_idle ? idle_bytes_ + (read_bytes - last_.traffic.read_bytes) : 0;
  if (!is_idle) idle_since_ns_ = now.time_ns;
  const bool are_read = 2 * (counts.received - last_.counts.received) >=
                        counts.started - last_.counts.started;
  // A flood begins calls with all that gRPC reads.
  is_proved_ = is_proved_ || counts.received >= kProvedCalls ||
               (counts.started != 0 && counts.started == last_.counts.started &&
                read_bytes > last_.traffic.read_bytes);
  last_ = now;
  last_.traffic.read_bytes = read_bytes;
  if (counts.left() <= kQuietCalls) quiet_ = counts;
  const uint64_t begun = counts.started - quiet_.started + now.waiting_calls;
  const uint64_t read = counts.received - quiet_.received;
  is_suspect_ = begun > read + kSuspectCalls;
  ask_bytes_ = is_idle || is_suspect_ || !are_read
                   ? kAskBytes
                   : std::min(2 * ask_bytes_, kMaxAskBytes);
  if (counts.left() > limits.max_left_calls ||
      begun > read + limits.max_unread_calls) {
    return Verdict::kResets;
  }
  const bool is_first = counts.received == 0 &&
                        now.traffic.sent_bytes <= kGreetingBytes &&
                        now.time_ns - idle_since_ns_ >= kMinIdleNsFirst;
  return idle_bytes_ > (is_first ? limits.max_idle_bytes_first
                                 : limits.max_idle_bytes)
             ? Verdict::kBytes
             : Verdict::kNone;
}

uint64_t EstimateResets(std::string_view peeked, uint64_t unread_bytes) {
  if (peeked.empty()) return 0;
  const uint64_t count = CountCallsResetAtOnce(peeked);
  if (count <= kSuspectResets) return count;
  const uint64_t more = std::max<uint64_t>(unread_bytes, peeked.size());
  return count * more / peeked.size();
}

void KeepBusiest(size_t max, std::vector<Candidate>& candidates) {
  if (candidates.size() <= max) return;
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(max);
  std::nth_element(candidates.begin(), end, candidates.end(),
                   [](const Candidate& one, const Candidate& other) {
                     return one.bytes > other.bytes;
                   });
  candidates.erase(end, candidates.end());
}

}  // namespace actord::daemon
