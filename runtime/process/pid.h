// The identity of a process and its text.
//
// Thread-safety: plain values.
#pragma once

#include <actord/abi.h>

#include <array>
#include <atomic>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace actord::runtime {

// A PID is never reused: a restarted daemon has a new incarnation, and a reused
// slot has a new generation.
struct Pid {
  uint32_t node = 0;
  uint32_t incarnation = 0;
  uint32_t slot = 0;
  // 0 only in "no process": live generations begin at 1.
  uint32_t generation = 0;

  [[nodiscard]] bool empty() const { return generation == 0; }
  // As two words, because GCC would compare four. The word of the slots first,
  // because the PIDs of two processes differ in it most often.
  friend bool operator==(const Pid& a, const Pid& b) {
    const auto of_a = std::bit_cast<std::array<uint64_t, 2>>(a);
    const auto of_b = std::bit_cast<std::array<uint64_t, 2>>(b);
    return of_a[1] == of_b[1] && of_a[0] == of_b[0];
  }
  friend auto operator<=>(const Pid&, const Pid&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const Pid& pid) {
    return H::combine(std::move(h), pid.node, pid.incarnation, pid.slot,
                      pid.generation);
  }
};

// The longest text of a PID: four numbers of 32 bits and three dots.
inline constexpr size_t kPidTextMaxBytes = 4 * 8 + 3;

// The text of a PID, opaque to users, for example "1.5f3a90c2.2a.1".
std::string FormatPid(const Pid& pid);
// Accepts exactly what FormatPid writes (one text for each PID), except for the
// text of an empty PID. INVALID_ARGUMENT, reason INVALID_PID.
absl::StatusOr<Pid> ParsePid(std::string_view text);

// FormatPid and ParsePid for the ABI's function tables (format_pid and
// parse_pid).
size_t CopyPidText(const actord_pid& pid, char* text);
int32_t ReadPidText(actord_bytes text, actord_pid* pid);

inline actord_pid ToAbi(const Pid& pid) {
  return {pid.node, pid.incarnation, pid.slot, pid.generation};
}
inline Pid FromAbi(const actord_pid& pid) {
  return {pid.node, pid.incarnation, pid.slot, pid.generation};
}

// Names one yield of one process for ever. Its text is the PID's, a dot and the
// tag in hexadecimal.
struct YieldToken {
  Pid pid;
  uint64_t tag = 0;

  friend auto operator<=>(const YieldToken&, const YieldToken&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const YieldToken& token) {
    return H::combine(std::move(h), token.pid, token.tag);
  }
};

std::string FormatYieldToken(const YieldToken& token);

// Names one attempt at a yield, or, with attempt 0, the yield in any attempt.
// Its text is the text of the yield token; if the attempt is not 0, a dot and
// the attempt in hexadecimal follow.
struct TaskToken {
  YieldToken yield;
  uint32_t attempt = 0;

  friend auto operator<=>(const TaskToken&, const TaskToken&) = default;
};

std::string FormatTaskToken(const TaskToken& token);
// Accepts texts with and without an attempt. INVALID_ARGUMENT, reason
// INVALID_YIELD_TOKEN.
absl::StatusOr<TaskToken> ParseTaskToken(std::string_view text);

// A PID that one thread writes and any thread may read. A reader checks
// afterwards that the process with this field has not changed
// (process_table.cc).
class AtomicPid {
 public:
  [[nodiscard]] Pid Load() const {
    const Words words = {first_.load(std::memory_order_acquire),
                         second_.load(std::memory_order_acquire)};
    return std::bit_cast<Pid>(words);
  }
  void Store(const Pid& pid) {
    const auto words = std::bit_cast<Words>(pid);
    // Release, as for all other fields that Reserve writes.
    first_.store(words[0], std::memory_order_release);
    second_.store(words[1], std::memory_order_release);
  }

 private:
  using Words = std::array<uint64_t, 2>;

  std::atomic<uint64_t> first_{0};   // node and incarnation
  std::atomic<uint64_t> second_{0};  // slot and generation
};

}  // namespace actord::runtime
