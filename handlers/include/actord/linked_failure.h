// The text of a failure that has passed along links: which process failed
// first, why, and how many links away. Its length does not depend on how many
// links the failure has passed.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actord::detail {

// What the first failure may take in the text of each process that it ends.
// The first process keeps its own text whole.
inline constexpr std::size_t kMaxCauseBytes = 512;

// Why the first process failed. It is passed on from link to link as it is.
struct FirstFailure {
  std::string pid;
  uint32_t links = 1;  // from that process to the one that ends by it
  std::string what;    // "has failed: …", "could not be: …"
};

// `what`, cut behind a whole character of UTF-8 if it is longer than
// kMaxCauseBytes.
inline std::string CutCause(std::string what) {
  constexpr std::string_view kCut = "...";
  if (what.size() <= kMaxCauseBytes) return what;
  std::size_t end = kMaxCauseBytes - kCut.size();
  // Bytes from 0x80 to 0xbf continue a character.
  while (end > 0 && (static_cast<unsigned char>(what[end]) & 0xc0u) == 0x80u) {
    --end;
  }
  what.resize(end);
  what += kCut;
  return what;
}

// Why a process ended whose link to the process `linked` has failed.
inline std::string LinkedFailureText(std::string_view linked,
                                     const FirstFailure& first) {
  std::string text = "process " + std::string(linked);
  text += ", to which it is linked, ";
  if (first.links > 1) {
    text += "has failed; the cause is " + std::to_string(first.links);
    text += " links away: process " + first.pid + " ";
  }
  return text + first.what;
}

}  // namespace actord::detail
